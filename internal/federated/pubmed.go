package federated

import (
	"context"
	"encoding/xml"
	"net/url"
	"strconv"
	"strings"
	"time"

	"carrel/internal/source"
)

// pubMed searches with E-utilities: esearch returns the ids of articles, efetch the articles.
func pubMed(ctx context.Context, c *apiClient, q Query, offset, n int) ([]source.Document, error) {
	v := c.entrez(url.Values{
		"retmode": {"json"}, "sort": {"relevance"}, "term": {q.Text}, "retstart": {strconv.Itoa(offset)},
		"retmax": {strconv.Itoa(n)},
	})
	if q.bounded() {
		v.Set("datetype", "pdat")
		v.Set("mindate", yearOr(q.FromYear, firstYear))
		v.Set("maxdate", yearOr(q.ToYear, lastYear))
	}
	var ids struct {
		Result struct {
			IDs []string `json:"idlist"`
		} `json:"esearchresult"`
	}
	if err := c.getJSON(ctx, request{path: "/entrez/eutils/esearch.fcgi", query: v}, &ids); err != nil {
		return nil, err
	}
	if ids.Result.IDs == nil {
		return nil, errUnexpected
	}
	if len(ids.Result.IDs) == 0 {
		return nil, nil
	}
	v = c.entrez(url.Values{"retmode": {"xml"}, "id": {strings.Join(ids.Result.IDs, ",")}})
	var set struct {
		XMLName  xml.Name        `xml:"PubmedArticleSet"`
		Articles []pubMedArticle `xml:"PubmedArticle"`
	}
	if err := c.getXML(ctx, request{path: "/entrez/eutils/efetch.fcgi", query: v}, &set); err != nil {
		return nil, err
	}
	byID := make(map[string]source.Document, len(set.Articles))
	for _, a := range set.Articles {
		byID[a.PMID] = a.document()
	}
	// efetch does not keep the order of relevance.
	out := make([]source.Document, 0, len(byID))
	for _, id := range ids.Result.IDs {
		out = append(out, byID[id])
	}
	return out, nil
}

// entrez adds the parameters that all E-utilities share.
func (c *apiClient) entrez(v url.Values) url.Values {
	v.Set("db", "pubmed")
	v.Set("tool", "carrel")
	if c.options.Contact != "" {
		v.Set("email", c.options.Contact)
	}
	if c.settings.Key != "" {
		v.Set("api_key", c.settings.Key)
	}
	return v
}

type pubMedArticle struct {
	PMID    string `xml:"MedlineCitation>PMID"`
	Article struct {
		Title    markup `xml:"ArticleTitle"`
		Abstract []struct {
			Label string `xml:"Label,attr"`
			markup
		} `xml:"Abstract>AbstractText"`
		Journal string     `xml:"Journal>Title"`
		PubDate pubMedDate `xml:"Journal>JournalIssue>PubDate"`
		Date    pubMedDate `xml:"ArticleDate"`
		Types   []string   `xml:"PublicationTypeList>PublicationType"`
		Authors []struct {
			Last       string `xml:"LastName"`
			Fore       string `xml:"ForeName"`
			Collective string `xml:"CollectiveName"`
		} `xml:"AuthorList>Author"`
	} `xml:"MedlineCitation>Article"`
	IDs []struct {
		Type string `xml:"IdType,attr"`
		ID   string `xml:",chardata"`
	} `xml:"PubmedData>ArticleIdList>ArticleId"`
}

// markup is a text with child elements.
type markup struct {
	Inner string `xml:",innerxml"`
}

type pubMedDate struct {
	Year    string `xml:"Year"`
	Month   string `xml:"Month"`
	Day     string `xml:"Day"`
	Medline string `xml:"MedlineDate"`
}

// read returns the year and, if it is known, the date. Months are numbers or English abbreviations.
func (d pubMedDate) read() (y int, day string) {
	y = leadingYear(firstNonEmpty(d.Year, d.Medline))
	m, err := strconv.Atoi(d.Month)
	if err != nil {
		if t, err := time.Parse("Jan", d.Month); err == nil {
			m = int(t.Month())
		}
	}
	n, err := strconv.Atoi(d.Day)
	if err != nil {
		return y, ""
	}
	return y, joinDate(y, m, n)
}

func (a pubMedArticle) document() source.Document {
	d := source.Document{
		ExternalID: a.PMID, Title: plainText(a.Article.Title.Inner), Venue: plainText(a.Article.Journal),
		Type: strings.ToLower(firstNonEmpty(a.Article.Types...)),
		URL:  "https://pubmed.ncbi.nlm.nih.gov/" + a.PMID + "/",
	}
	var parts []string
	for _, p := range a.Article.Abstract {
		text := plainText(p.Inner)
		if p.Label != "" && text != "" {
			text = p.Label + ": " + text
		}
		parts = append(parts, text)
	}
	d.Text = strings.TrimSpace(strings.Join(parts, "\n\n"))
	var authors []string
	for _, x := range a.Article.Authors {
		authors = append(authors, firstNonEmpty(x.Collective, x.Fore+" "+x.Last))
	}
	d.Authors = cleanNames(authors)
	if d.Year, d.PublishedAt = a.Article.PubDate.read(); d.Year == 0 {
		d.Year, d.PublishedAt = a.Article.Date.read()
	}
	for _, id := range a.IDs {
		switch id.Type {
		case "doi":
			d.DOI = normalizeDOI(id.ID)
		case "pmc":
			d.OpenAccessURL = "https://pmc.ncbi.nlm.nih.gov/articles/" + strings.TrimSpace(id.ID) + "/"
		}
	}
	return d
}
