package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"carrel/internal/source"
)

// jsonFeed is a feed of https://jsonfeed.org/version/1.1, or of version 1, which has author instead of authors.
type jsonFeed struct {
	Version string      `json:"version"`
	Title   string      `json:"title"`
	Items   []jsonEntry `json:"items"`
}

type jsonEntry struct {
	// ID is a string according to the specification, but some feeds use numbers.
	ID            any          `json:"id"`
	URL           string       `json:"url"`
	ExternalURL   string       `json:"external_url"`
	Title         string       `json:"title"`
	ContentHTML   string       `json:"content_html"`
	ContentText   string       `json:"content_text"`
	Summary       string       `json:"summary"`
	DatePublished string       `json:"date_published"`
	DateModified  string       `json:"date_modified"`
	Authors       []jsonAuthor `json:"authors"`
	Author        jsonAuthor   `json:"author"`
}

type jsonAuthor struct {
	Name string `json:"name"`
}

// decodeJSONFeed decodes item by item and keeps at most maxEntries, because an item of two bytes needs 200 in memory.
func decodeJSONFeed(data []byte) (feed jsonFeed, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return feed, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return feed, err
		}
		switch key {
		case "version":
			err = d.Decode(&feed.Version)
		case "title":
			err = d.Decode(&feed.Title)
		case "items":
			feed.Items, err = decodeItems(d)
		default:
			var unused json.RawMessage
			err = d.Decode(&unused)
		}
		if err != nil {
			return feed, err
		}
	}
	return feed, nil
}

func decodeItems(d *json.Decoder) (items []jsonEntry, err error) {
	if start, err := d.Token(); err != nil || start != json.Delim('[') {
		return nil, errors.New("not a feed")
	}
	for d.More() {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		if len(items) == maxEntries {
			continue
		}
		var item jsonEntry
		if err := json.Unmarshal(raw, &item); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err = d.Token()
	return items, err
}

// parseJSONFeed converts the items to feedEntry, so that all feeds share one conversion to documents.
func parseJSONFeed(ctx context.Context, data []byte) ([]source.Document, error) {
	feed, err := decodeJSONFeed(data)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(feed.Version, "https://jsonfeed.org/version/") {
		return nil, errors.New("not a feed")
	}
	var out []source.Document
	for _, item := range feed.Items {
		entry := feedEntry{
			Title: item.Title, Links: []feedLink{{Href: item.URL}, {Href: item.ExternalURL}}, Encoded: item.ContentHTML,
			Summary:   item.Summary,
			Published: item.DatePublished, Updated: item.DateModified,
		}
		switch id := item.ID.(type) {
		case string:
			entry.ID = id
		case float64:
			number, _ := json.Marshal(id) // a float64 always marshals
			entry.ID = string(number)
		}
		for _, a := range append(item.Authors, item.Author) {
			if a.Name != "" {
				entry.Creator = append(entry.Creator, a.Name)
			}
		}
		d, usable := entry.document(ctx, feed.Title)
		if item.ContentText != "" { // plain text: "<" starts no element
			d.Text = plainText(item.ContentText)
			usable = usable || d.ExternalID != "" && d.Text != ""
		}
		if usable {
			out = append(out, d)
		}
	}
	return out, nil
}

// plainText removes NUL and invalid UTF-8.
func plainText(s string) string {
	return strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), ""))
}
