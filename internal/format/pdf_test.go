package format

import (
	"testing"

	"carrel/internal/format/pdf"
)

func TestTheNoteSaysWhichPartOfAPDFIsMissing(t *testing.T) {
	t.Parallel()
	pages := make([]string, 14)
	for want, text := range map[string]pdf.Text{
		"": {Pages: pages, Drawn: 1000, Unread: 20, Empty: 3},
		"a.pdf: 12 of 14 pages are images without text; run text recognition (OCR) to include them": {
			Pages: pages, Images: 12, Empty: 12,
		},
		"a.pdf: 78 % of the text is in fonts that do not say which characters they show, and is missing": {
			Pages: pages, Drawn: 1000, Unread: 787,
		},
	} {
		if got := unreadNote("a.pdf", text); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
