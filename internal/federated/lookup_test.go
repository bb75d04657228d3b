package federated

import (
	"net/http"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/outbound"
)

// lookupAPI is a strict fake of the single-record requests of Crossref, OpenAlex and arXiv. It replies to any other
// request with a status that fails the lookup.
func lookupAPI(t *testing.T) *Searcher {
	t.Helper()
	api := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mailto := r.URL.Query().Get("mailto") == contact
		switch {
		case r.Method != http.MethodGet || r.UserAgent() != "Carrel/test (mailto:"+contact+")":
			w.WriteHeader(http.StatusTeapot)
		case mailto && r.URL.EscapedPath() == "/works/10.1145%2F362384.362685":
			_, _ = w.Write([]byte(`{"status":"ok","message-type":"work","message":{"DOI":"10.1145/362384.362685",
				"title":["A relational model"],"container-title":["CACM"],"issued":{"date-parts":[[1970,6]]},
				"author":[{"given":"E. F.","family":"Codd"}]}}`))
		case mailto && r.URL.EscapedPath() == "/works/10.1%2Fother":
			_, _ = w.Write([]byte(`{"message":{"DOI":"10.1/another","title":["Another work"]}}`))
		case mailto && r.URL.EscapedPath() == "/works/10.1%2Fbusy":
			w.WriteHeader(http.StatusInternalServerError)
		case mailto && r.URL.EscapedPath() == "/works/doi:10.5281/zenodo.1%3F2":
			_, _ = w.Write([]byte(`{"id":"https://openalex.org/W1","doi":"https://doi.org/10.5281/zenodo.1?2",
				"display_name":"A data set","publication_year":2020}`))
		case r.URL.Path == "/api/query" && r.URL.Query().Get("max_results") == "1":
			w.Header().Set("Content-Type", "application/atom+xml")
			_, _ = w.Write([]byte(`<feed xmlns="http://www.w3.org/2005/Atom"><entry>
				<id>http://arxiv.org/abs/2401.01234v2</id><title>A preprint</title><published>2024-01-02T00:00:00Z</published>
				<author><name>Ada Lovelace</name></author></entry></feed>`))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	return New(Options{
		Client:  outbound.NewClient(outbound.Options{Private: true, Timeout: time.Minute}),
		Contact: contact, Version: "test", Private: true,
		Hosts: map[string]string{"crossref": api.URL, "openalex": api.URL, "arxiv": api.URL},
	})
}

func TestLookupDOIReturnsTheRecordOfACatalogue(t *testing.T) {
	t.Parallel()
	s := lookupAPI(t)
	d, from, err := s.LookupDOI(t.Context(), "https://doi.org/10.1145/362384.362685")
	if err != nil || from != "crossref" || d.Title != "A relational model" || d.Year != 1970 || d.Venue != "CACM" ||
		len(d.Authors) != 1 || d.Authors[0] != "E. F. Codd" {
		t.Errorf("Crossref: %+v of %s (%v)", d, from, err)
	}
	d, from, err = s.LookupDOI(t.Context(), "10.5281/ZENODO.1?2")
	if err != nil || from != "openalex" || d.Title != "A data set" || d.Year != 2020 {
		t.Errorf("OpenAlex: %+v of %s (%v)", d, from, err)
	}
	for _, doi := range []string{"10.1/unknown", "10.1/other", "not a DOI", ""} {
		if _, _, err := s.LookupDOI(t.Context(), doi); !core.IsKind(err, core.KindNotFound) {
			t.Errorf("%q: %v", doi, err)
		}
	}
	if _, _, err := s.LookupDOI(t.Context(), "10.1/busy"); err == nil || core.IsKind(err, core.KindNotFound) {
		t.Errorf("a failing catalogue: %v", err)
	}
}

func TestLookupArXivReturnsTheRecordOfTheIdentifier(t *testing.T) {
	t.Parallel()
	s := lookupAPI(t)
	d, from, err := s.LookupArXiv(t.Context(), "2401.01234")
	if err != nil || from != "arxiv" || d.Title != "A preprint" || d.Year != 2024 || d.Authors[0] != "Ada Lovelace" {
		t.Errorf("%+v of %s (%v)", d, from, err)
	}
	if _, _, err := s.LookupArXiv(t.Context(), "2401.99999"); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("an unknown identifier: %v", err)
	}
}
