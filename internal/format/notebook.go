package format

import (
	"encoding/json"
	"strings"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// notebook is a Jupyter notebook (nbformat 4, or 3 with worksheets).
type notebook struct {
	Cells      []notebookCell `json:"cells"`
	Worksheets []struct {
		Cells []notebookCell `json:"cells"`
	} `json:"worksheets"`
	Metadata struct {
		Title   string `json:"title"`
		Authors []struct {
			Name string `json:"name"`
		} `json:"authors"`
	} `json:"metadata"`
}

type notebookCell struct {
	Kind   string        `json:"cell_type"`
	Source notebookLines `json:"source"`
	// Input is the source of a code cell in nbformat 3, Level the level of a heading cell.
	Input notebookLines `json:"input"`
	Level int           `json:"level"`
}

// notebookLines is a text as one string or as a list of lines.
type notebookLines string

// UnmarshalJSON ignores values of other types.
func (l *notebookLines) UnmarshalJSON(b []byte) error {
	var lines []string
	var text string
	if json.Unmarshal(b, &text) != nil {
		if json.Unmarshal(b, &lines) != nil {
			return nil //nolint:nilerr // another type
		}
		text = strings.Join(lines, "")
	}
	*l = notebookLines(text)
	return nil
}

// parseNotebook reads a Jupyter notebook: its text, and its code without outputs.
func parseNotebook(b *budget.Budget, name string, data []byte) (source.Document, error) {
	b.Work(6 * workJSON * len(data))
	b.Hold(3 * len(data))
	content, err := decodeText(data)
	if err != nil {
		return source.Document{}, err
	}
	var n notebook
	if err := json.Unmarshal([]byte(content), &n); err != nil {
		return source.Document{}, fault("is not a Jupyter notebook, or is damaged")
	}
	for _, sheet := range n.Worksheets {
		n.Cells = append(n.Cells, sheet.Cells...)
	}
	if len(n.Cells) == 0 {
		return source.Document{}, fault("is a notebook without cells")
	}
	var text strings.Builder
	for _, cell := range n.Cells {
		body := firstOf(string(cell.Source), string(cell.Input))
		switch cell.Kind {
		case "code":
			// A longer fence than any in the code.
			fence := strings.Repeat("`", 3+strings.Count(body, "```"))
			text.WriteString(fence + "\n" + body + "\n" + fence)
		case "heading":
			text.WriteString(strings.Repeat("#", max(1, min(cell.Level, 6))) + " " + body)
		default:
			text.WriteString(body)
		}
		text.WriteString("\n\n")
	}
	d, err := parseMarkdown(b, name, []byte(strings.ReplaceAll(text.String(), "\x00", "")))
	if err != nil {
		return source.Document{}, err
	}
	d.Title = oneLine(firstOf(n.Metadata.Title, d.Title))
	for _, author := range n.Metadata.Authors {
		d.Authors = append(d.Authors, author.Name)
	}
	d.Authors = cleanNames(d.Authors)
	return d, nil
}
