package federated

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"testing"

	"carrel/internal/source"
)

func number(n int) *int { return &n }

// shapes are a reply in the format of each API, the expected request, and the expected document.
var shapes = map[string]struct {
	asks   wantRequest
	body   map[string]any
	answer string
	reads  source.Document
}{
	"openalex": {
		asks: wantRequest{
			path: "/works",
			query: map[string]string{
				"search": "relational model", "per-page": "10", "page": "1", "api_key": secret, "mailto": contact,
			},
		},
		answer: `{"meta":{"count":1},"results":[{"id":"https://openalex.org/W2","doi":"https://doi.org/10.1145/362384.362685",
			"display_name":"A <i>relational</i> model","publication_year":1970,"publication_date":"1970-06-01",
			"type":"article","cited_by_count":4711,
			"abstract_inverted_index":{"Future":[0],"users":[1,3],"of":[2]},
			"primary_location":{"landing_page_url":"https://dl.acm.org/doi/10.1145/362384.362685",
			"source":{"display_name":"Communications of the ACM"}},
			"open_access":{"oa_url":"https://example.org/codd.pdf"},"authorships":[{"author":{"display_name":"E. F. Codd"}}]}]}`,
		reads: source.Document{
			ExternalID: "W2", Title: "A relational model", Text: "Future users of users", Year: 1970,
			PublishedAt: "1970-06-01", DOI: "10.1145/362384.362685",
			Type: "article", CitationCount: number(4711), URL: "https://dl.acm.org/doi/10.1145/362384.362685",
			Venue:         "Communications of the ACM",
			OpenAccessURL: "https://example.org/codd.pdf", Authors: []string{"E. F. Codd"},
		},
	},
	"crossref": {
		asks: wantRequest{
			path: "/works",
			query: map[string]string{
				"query.bibliographic": "relational model", "rows": "10", "offset": "0", "mailto": contact,
			},
		},
		answer: `{"status":"ok","message":{"items":[{"DOI":"10.1145/362384.362685",
			"URL":"https://doi.org/10.1145/362384.362685","title":["A relational model &amp; more"],
			"container-title":["CACM"],
			"abstract":"<jats:title>Abstract</jats:title><jats:p>Future users of H<jats:sub>2</jats:sub>O.</jats:p>",
			"type":"journal-article",
			"is-referenced-by-count":3,"issued":{"date-parts":[[1970,6]]},"author":[{"given":"E. F.","family":"Codd"},
			{"name":"IBM"}]}]}}`,
		reads: source.Document{
			ExternalID: "10.1145/362384.362685", DOI: "10.1145/362384.362685", Title: "A relational model & more",
			Venue: "CACM", Text: "Abstract Future users of H2O.",
			Type: "journal-article", CitationCount: number(3), Year: 1970, URL: "https://doi.org/10.1145/362384.362685",
			Authors: []string{"E. F. Codd", "IBM"},
		},
	},
	"arxiv": {
		asks: wantRequest{
			path: "/api/query",
			query: map[string]string{
				"search_query": "all:relational AND all:model", "start": "0", "max_results": "10",
				"sortBy": "relevance",
			},
		},
		answer: `<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom">
			<entry><id>http://arxiv.org/abs/2401.01234v2</id>
			<published>2024-01-02T18:00:00Z</published><title>A relational
			  model</title><summary> Future users. </summary><author><name>Ada Lovelace</name></author>
			<arxiv:doi xmlns:arxiv="http://arxiv.org/schemas/atom">10.1000/X</arxiv:doi>
			<link href="http://arxiv.org/abs/2401.01234v2" rel="alternate"/>
			<link title="pdf" href="http://arxiv.org/pdf/2401.01234v2"/></entry></feed>`,
		reads: source.Document{
			ExternalID: "2401.01234", Title: "A relational model", Text: "Future users.", Year: 2024,
			PublishedAt: "2024-01-02", DOI: "10.1000/x", Venue: "arXiv",
			Type: "preprint", URL: "https://arxiv.org/abs/2401.01234v2",
			OpenAccessURL: "https://arxiv.org/pdf/2401.01234v2", Authors: []string{"Ada Lovelace"},
		},
	},
	"semanticscholar": {
		asks: wantRequest{
			path:   "/graph/v1/paper/search",
			query:  map[string]string{"query": "relational model", "offset": "0", "limit": "10"},
			header: map[string]string{"x-api-key": secret},
		},
		answer: `{"total":1,"data":[{"paperId":"abc","externalIds":{"DOI":"10.1/X"},
			"url":"https://www.semanticscholar.org/paper/abc","title":"A relational model","abstract":null,
			"venue":"CACM","year":1970,"citationCount":9,"openAccessPdf":{"url":"https://example.org/x.pdf"},
			"publicationTypes":["JournalArticle"],"publicationDate":null,"authors":[{"authorId":"1","name":"E. Codd"}]}]}`,
		reads: source.Document{
			ExternalID: "abc", Title: "A relational model", Year: 1970, Venue: "CACM", DOI: "10.1/x",
			CitationCount: number(9), Type: "journalarticle",
			URL: "https://www.semanticscholar.org/paper/abc", OpenAccessURL: "https://example.org/x.pdf",
			Authors: []string{"E. Codd"},
		},
	},
	"europepmc": {
		asks: wantRequest{
			path: "/europepmc/webservices/rest/search",
			query: map[string]string{
				"query": "relational model", "format": "json", "resultType": "core", "pageSize": "10", "email": contact,
			},
		},
		answer: `{"hitCount":1,"resultList":{"result":[{"id":"123","source":"MED","doi":"10.1/x",
			"title":"A relational model.","authorList":{"author":[{"fullName":"Codd EF","firstName":"Edgar","lastName":"Codd"}]},
			"journalInfo":{"journal":{"title":"Lancet"}},"pubYear":"1970","abstractText":"<h4>Aim</h4>Future users.",
			"citedByCount":2,"firstPublicationDate":"1970-06-01",
			"pubTypeList":{"pubType":["research-article"]},"fullTextUrlList":{"fullTextUrl":[{"availabilityCode":"S",
			"url":"https://example.org/no"},{"availabilityCode":"OA","url":"https://example.org/yes"}]}}]}}`,
		reads: source.Document{
			ExternalID: "MED:123", Title: "A relational model.", Text: "Aim Future users.", Year: 1970,
			PublishedAt: "1970-06-01", DOI: "10.1/x", Venue: "Lancet",
			CitationCount: number(2), Type: "research-article", URL: "https://europepmc.org/article/MED/123",
			OpenAccessURL: "https://example.org/yes", Authors: []string{"Edgar Codd"},
		},
	},
	"core": {
		asks: wantRequest{
			path:   "/v3/search/works/",
			query:  map[string]string{"q": "(relational model)", "limit": "10", "offset": "0"},
			header: map[string]string{"Authorization": "Bearer " + secret},
		},
		answer: `{"totalHits":1,"results":[{"id":99,"doi":"10.1/x","title":"A relational model","abstract":"Future users.",
			"yearPublished":1970,"publishedDate":"1970-06-01T00:00:00",
			"documentType":"research","citationCount":5,"downloadUrl":"https://core.ac.uk/download/99.pdf","publisher":"ACM",
			"authors":[{"name":"Codd, E."}],"journals":[{"title":"CACM"}],
			"links":[{"type":"download","url":"https://core.ac.uk/download/99.pdf"},{"type":"display",
			"url":"https://core.ac.uk/works/99"}]}]}`,
		reads: source.Document{
			ExternalID: "99", Title: "A relational model", Text: "Future users.", Year: 1970, PublishedAt: "1970-06-01",
			DOI: "10.1/x", Type: "research", CitationCount: number(5),
			OpenAccessURL: "https://core.ac.uk/download/99.pdf", Venue: "CACM", Authors: []string{"Codd, E."},
			URL: "https://core.ac.uk/works/99",
		},
	},
	"wikipedia": {
		asks: wantRequest{
			path: "/w/api.php",
			query: map[string]string{
				"gsrsearch": "relational model", "gsrlimit": "10", "gsroffset": "0", "formatversion": "2",
				"maxlag": "5", "exintro": "1",
			},
		},
		answer: `{"batchcomplete":true,"query":{"pages":[{"pageid":8,"ns":0,"title":"Second","index":2,"extract":"b",
			"fullurl":"https://en.wikipedia.org/wiki/Second"},
			{"pageid":7,"ns":0,"title":"Relational model","index":1,"extract":"The relational model is one.\n\nIt is old.",
			"fullurl":"https://en.wikipedia.org/wiki/Relational_model"}]}}`,
		reads: source.Document{
			ExternalID: "en:7", Title: "Relational model", Text: "The relational model is one.\n\nIt is old.",
			URL:  "https://en.wikipedia.org/wiki/Relational_model",
			Type: "encyclopedia-article", Venue: "Wikipedia",
		},
	},
	"searxng": {
		asks: wantRequest{
			path: "/search", query: map[string]string{"q": "relational model", "format": "json", "pageno": "1"},
		},
		answer: `{"query":"relational model","results":[{"url":"https://example.org/a","title":"A relational model",
			"content":"Future users.","publishedDate":"2020-05-06T07:08:09","engine":"x"},
			{"url":"javascript:alert(1)","title":"Bad","content":""}]}`,
		reads: source.Document{
			ExternalID: "https://example.org/a", Title: "A relational model", Text: "Future users.",
			URL: "https://example.org/a", Type: "webpage", Year: 2020,
			PublishedAt: "2020-05-06", Authors: []string{},
		},
	},
	"brave": {
		asks: wantRequest{
			path: "/res/v1/web/search", query: map[string]string{"q": "relational model", "count": "10", "offset": "0"},
			header: map[string]string{"X-Subscription-Token": secret},
		},
		answer: `{"type":"search","web":{"results":[{"title":"A relational model","url":"https://example.org/a",
			"description":"Future <strong>users</strong>.","page_age":"2020-05-06T07:08:09","extra_snippets":["More."]}]}}`,
		reads: source.Document{
			ExternalID: "https://example.org/a", Title: "A relational model", Text: "Future users. More.",
			URL: "https://example.org/a", Type: "webpage", Year: 2020,
			PublishedAt: "2020-05-06", Authors: []string{},
		},
	},
	"tavily": {
		asks: wantRequest{
			path: "/search", method: http.MethodPost,
			header: map[string]string{"Authorization": "Bearer " + secret, "Content-Type": "application/json"},
		},
		body: map[string]any{"query": "relational model", "max_results": 10.0, "search_depth": "basic"},
		answer: `{"query":"x","results":[{"title":"A relational model","url":"https://example.org/a",
			"content":"Future users.","score":0.9,"published_date":"Wed, 06 May 2020 07:08:09 GMT"}]}`,
		reads: source.Document{
			ExternalID: "https://example.org/a", Title: "A relational model", Text: "Future users.",
			URL: "https://example.org/a", Type: "webpage", Year: 2020,
			PublishedAt: "2020-05-06", Authors: []string{},
		},
	},
	"exa": {
		asks: wantRequest{path: "/search", method: http.MethodPost, header: map[string]string{"X-Api-Key": secret}},
		body: map[string]any{
			"query": "relational model", "numResults": 10.0,
			"contents": map[string]any{"text": map[string]any{"maxCharacters": 4000.0}},
		},
		answer: `{"requestId":"r","results":[{"id":"https://example.org/a","title":"A relational model",
			"url":"https://example.org/a","publishedDate":"2020-05-06T07:08:09.000Z","author":"Ada","text":"Future users.",
			"score":0.5}]}`,
		reads: source.Document{
			ExternalID: "https://example.org/a", Title: "A relational model", Text: "Future users.",
			URL: "https://example.org/a", Type: "webpage", Year: 2020,
			PublishedAt: "2020-05-06", Authors: []string{"Ada"},
		},
	},
}

func TestRequestsAndRepliesOfEachKindMatchItsAPI(t *testing.T) {
	t.Parallel()
	for kind, s := range shapes {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if wrong := s.asks.wrong(r); wrong != "" {
					t.Error(wrong)
				}
				if s.body != nil {
					var body map[string]any
					if b, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(b, &body) != nil ||
						!reflect.DeepEqual(body, s.body) {
						t.Errorf("body is %v", body)
					}
				}
				_, _ = io.WriteString(w, s.answer)
			})
			found, err := search(t.Context(), kind, a, Query{Text: "relational model"})
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Documents) == 0 || !reflect.DeepEqual(found.Documents[0], s.reads) {
				t.Errorf("got  %+v\nwant %+v", found.Documents, s.reads)
			}
			for _, d := range found.Documents {
				if d.Title == "Bad" && d.URL != "" {
					t.Errorf("a link leads to %q", d.URL)
				}
			}
		})
	}
	for kind := range kinds {
		if _, ok := shapes[kind]; !ok && kind != "mcp" && kind != "pubmed" { // these have their own tests
			t.Errorf("no test reads %s", kind)
		}
	}
}

func TestPubMedIsSearchedAndThenRead(t *testing.T) {
	t.Parallel()
	common := map[string]string{"db": "pubmed", "tool": "carrel", "email": contact, "api_key": secret}
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asks := wantRequest{
			path: "/entrez/eutils/esearch.fcgi",
			query: map[string]string{
				"term": "relational model", "retmax": "10", "retmode": "json", "sort": "relevance",
			},
		}
		answer := `{"esearchresult":{"count":"2","idlist":["2","1"]}}`
		if r.URL.Path != asks.path {
			asks = wantRequest{
				path: "/entrez/eutils/efetch.fcgi", query: map[string]string{"id": "2,1", "retmode": "xml"},
			}
			answer = `<?xml version="1.0" ?><!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "https://dtd.nlm.nih.gov/x.dtd"><PubmedArticleSet>
				<PubmedArticle><MedlineCitation><PMID Version="1">1</PMID><Article><Journal><JournalIssue>
				<PubDate><MedlineDate>1999 Nov-Dec</MedlineDate></PubDate></JournalIssue><Title>Lancet</Title></Journal>
				<ArticleTitle>First</ArticleTitle></Article></MedlineCitation></PubmedArticle>
				<PubmedArticle><MedlineCitation><PMID Version="1">2</PMID><Article><Journal><JournalIssue>
				<PubDate><Year>2001</Year><Month>Feb</Month><Day>3</Day></PubDate></JournalIssue><Title>Nature</Title></Journal>
				<ArticleTitle>On H<sub>2</sub>O</ArticleTitle><Abstract><AbstractText Label="AIM">To <i>see</i>.</AbstractText>
				<AbstractText>Seen.</AbstractText></Abstract>
				<AuthorList><Author><LastName>Codd</LastName><ForeName>Edgar</ForeName></Author>
				<Author><CollectiveName>The Group</CollectiveName></Author></AuthorList>
				<PublicationTypeList><PublicationType>Journal Article</PublicationType></PublicationTypeList>
				</Article></MedlineCitation>
				<PubmedData><ArticleIdList><ArticleId IdType="doi">10.1/X</ArticleId>
				<ArticleId IdType="pmc">PMC5</ArticleId></ArticleIdList></PubmedData></PubmedArticle></PubmedArticleSet>`
		}
		if wrong := asks.wrong(r) + (wantRequest{path: asks.path, query: common}).wrong(r); wrong != "" {
			t.Error(wrong)
		}
		_, _ = io.WriteString(w, answer)
	})
	found, err := search(t.Context(), "pubmed", a, Query{Text: "relational model"})
	if err != nil {
		t.Fatal(err)
	}
	want := []source.Document{
		{
			ExternalID: "2", Title: "On H2O", Text: "AIM: To see.\n\nSeen.", Year: 2001, PublishedAt: "2001-02-03",
			DOI: "10.1/x", Venue: "Nature", Type: "journal article",
			URL: "https://pubmed.ncbi.nlm.nih.gov/2/", OpenAccessURL: "https://pmc.ncbi.nlm.nih.gov/articles/PMC5/",
			Authors: []string{"Edgar Codd", "The Group"},
		},
		{
			ExternalID: "1", Title: "First", Year: 1999, Venue: "Lancet", URL: "https://pubmed.ncbi.nlm.nih.gov/1/",
			Authors: []string{},
		},
	}
	if !reflect.DeepEqual(found.Documents, want) {
		t.Errorf("got  %+v\nwant %+v", found.Documents, want)
	}
}
