package favourite

import (
	"bufio"
	"encoding/json"
	"strings"
)

// cslItem is a CSL-JSON item, the input of citation processors. The names are defined by its schema.
type cslItem struct {
	ID             string    `json:"id"`
	Type           string    `json:"type"`
	Title          string    `json:"title,omitempty"`
	Author         []cslName `json:"author,omitempty"`
	Issued         *cslDate  `json:"issued,omitempty"`
	ContainerTitle string    `json:"container-title,omitempty"`
	Volume         string    `json:"volume,omitempty"`
	Issue          string    `json:"issue,omitempty"`
	Page           string    `json:"page,omitempty"`
	Publisher      string    `json:"publisher,omitempty"`
	DOI            string    `json:"DOI,omitempty"`
	URL            string    `json:"URL,omitempty"`
	Abstract       string    `json:"abstract,omitempty"`
	Keyword        string    `json:"keyword,omitempty"`
	Note           string    `json:"note,omitempty"`
}

type cslName struct {
	Family  string `json:"family,omitempty"`
	Given   string `json:"given,omitempty"`
	Suffix  string `json:"suffix,omitempty"`
	Literal string `json:"literal,omitempty"`
}

// cslDate is one date: [year], [year, month] or [year, month, day].
type cslDate struct {
	DateParts [][]int `json:"date-parts"`
}

func writeCSL(w *bufio.Writer, refs []reference) error {
	items := make([]cslItem, len(refs))
	for i := range refs {
		items[i] = newCSLItem(&refs[i])
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // not HTML, and people read it
	e.SetIndent("", "  ")
	return e.Encode(items)
}

func newCSLItem(r *reference) cslItem {
	item := cslItem{
		ID: r.id, Type: r.kind.csl, Title: r.title, ContainerTitle: r.venue, Volume: r.volume, Issue: r.issue,
		Page: r.pages, Publisher: r.publisher, DOI: r.doi, URL: r.url, Abstract: r.abstract,
		Keyword: strings.Join(r.tags, ", "), Note: r.note,
	}
	for _, n := range r.authors {
		item.Author = append(
			item.Author, cslName{Family: n.family, Given: n.given, Suffix: n.suffix, Literal: n.literal},
		)
	}
	if r.year != 0 {
		date := []int{r.year}
		if r.month != 0 {
			date = append(date, r.month)
		}
		if r.day != 0 {
			date = append(date, r.day)
		}
		item.Issued = &cslDate{DateParts: [][]int{date}}
	}
	return item
}
