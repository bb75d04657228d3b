package format

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/format/budget"
)

// recognizerFunc is a Recognizer.
type recognizerFunc func(mediaType string, data []byte) (string, error)

// Recognize implements Recognizer.
func (f recognizerFunc) Recognize(_ context.Context, mediaType string, data []byte) (string, error) {
	return f(mediaType, data)
}

// scannedPDF returns a file whose first page has text and whose second and third pages are photos.
func scannedPDF() string {
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R 4 0 R 4 0 R]/Count 3>>",
		"<</Type/Page/Contents 5 0 R/Resources<</Font<</F 7 0 R>>>>>>",
		"<</Type/Page/Contents 6 0 R/Resources<</XObject<</X 8 0 R>>>>>>",
		"<</Length 43>>stream\nBT /F 12 Tf 50 700 Td (A printed page) Tj ET\nendstream",
		"<</Length 5>>stream\n/X Do\nendstream",
		"<</Type/Font/Subtype/Type1/BaseFont/Sample/Encoding/WinAnsiEncoding>>",
		"<</Subtype/Image/Width 1000/Height 1000/Filter/DCTDecode/Length 5>>stream\nphoto\nendstream",
	}
	var b strings.Builder
	b.WriteString("%PDF-1.4\n")
	for i, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	b.WriteString("trailer\n<</Root 1 0 R>>\n%%EOF\n")
	return b.String()
}

func TestPagesThatAreImagesAreRecognized(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "scan.pdf")
	if err := os.WriteFile(path, []byte(scannedPDF()), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ocr        Recognizer
		text, note string
	}{
		"off": {nil, "A printed page\f\f", "scan.pdf: 2 of 3 pages are images without text; run text recognition"},
		"on": {recognizerFunc(func(mediaType string, data []byte) (string, error) {
			return mediaType + " " + string(data), nil
		}), "A printed page\fimage/jpeg photo\fimage/jpeg photo", ""},
		"failing": {recognizerFunc(func(string, []byte) (string, error) {
			return "", errors.Join(Reason("the engine is not installed"), errors.New("secret detail"))
		}), "A printed page\f\f", "scan.pdf: 2 of 3 pages are images without text; text recognition (OCR) failed: " +
			"the engine is not installed"},
		"with an internal error": {
			recognizerFunc(func(string, []byte) (string, error) { return "", errors.New("secret detail") }),
			"A printed page\f\f",
			"scan.pdf: 2 of 3 pages are images without text; text recognition (OCR) failed: an internal error occurred",
		},
	} {
		library, err := OpenWithin(t.Context(), path, Limits{Limits: budget.Default, OCR: c.ocr})
		if err != nil {
			t.Fatal(err)
		}
		for d, err := range library.Documents(t.Context(), nil) {
			if err != nil || d.Text != c.text || !strings.HasPrefix(d.Note, c.note) || c.note == "" && d.Note != "" {
				t.Errorf("%s: %q, %q (%v)", name, d.Text, d.Note, err)
			}
		}
	}
}
