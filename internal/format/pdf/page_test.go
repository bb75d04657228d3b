package pdf_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"carrel/internal/format/pdf"
)

// withInfo builds a page that says hello, with entries of the information dictionary.
func withInfo(entries string) []byte {
	data := build(catalogue, onePage, thePage, stream(hello), helvetica, object("<<"+entries+">>"))
	return bytes.Replace(data, []byte("/Root"), []byte("/Info 6 0 R/Root"), 1)
}

// Text strings are UTF-16 or UTF-8 with a byte order mark, else PDFDocEncoding (ISO 32000-1, section 7.9.2.2).
func TestTextStringsOfMetadata(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"(Plain ASCII)":                       "Plain ASCII",
		"<FEFF0047007200FC00DF0065>":          "Grüße",
		"<FEFFD835DD3C0020006F006E0065>":      "𝔼 one",
		"<FEFF0041004>":                       "A@", // half a character is completed with zeros
		"<FEFFD835>":                          "",   // half a surrogate pair
		"(\xef\xbb\xbfGrüße)":                 "Grüße",
		"(\\337 \\344)":                       "ß ä",
		"(Deep learning \\205 a review)":      "Deep learning – a review",
		"(\\215Quoted\\216 \\217single\\220)": "“Quoted” ‘single’",
		"(A\\204B \\200 \\240)":               "A—B • €",
		"(e\\223cient \\224ow)":               "eficient flow",
		"(\\216\\231\\235)":                   "”Žš",
		"(  spaces \\t )":                     "spaces",
		"(line\\nbreak)":                      "line\nbreak",
		"(nul\\000l and \\007bell)":           "null and bell",
		"()":                                  "",
		"/NotAString":                         "",
		"99 0 R":                              "",
	} {
		if got := extract(t, withInfo("/Title "+entry)).Title; got != want {
			t.Errorf("%s: got %q, want %q", entry, got, want)
		}
	}
}

func TestDOIOfMetadata(t *testing.T) {
	t.Parallel()
	packet := func(body string) []byte {
		return build("<</Type/Catalog/Pages 2 0 R/Metadata 6 0 R>>", onePage, thePage, stream(hello), helvetica,
			stream("<rdf:Description>"+body+"</rdf:Description>"))
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"doi entry":         {withInfo("/doi(10.1000/182)"), "10.1000/182"},
		"DOI entry":         {withInfo("/DOI(doi:10.1000/182)"), "doi:10.1000/182"},
		"publisher's entry": {withInfo("/WPS-ARTICLEDOI(10.1002/abc.1)"), "10.1002/abc.1"},
		"prism":             {packet("<prism:doi>10.1000/1</prism:doi>"), "10.1000/1"},
		"pdfx":              {packet("<pdfx:doi> 10.1000/2 </pdfx:doi>"), "10.1000/2"},
		"dublin core":       {packet("<dc:identifier>doi:10.1000/3</dc:identifier>"), "doi:10.1000/3"},
		"prism before dc": {packet(
			"<dc:identifier>10.1000/3</dc:identifier><prism:doi>10.1000/1</prism:doi>",
		), "10.1000/1"},
		"another identifier": {packet("<dc:identifier>urn:isbn:978316</dc:identifier>"), ""},
		"not closed":         {packet("<prism:doi>10.1000/1"), "10.1000/1"}, // the next tag ends it
		"too long":           {packet("<prism:doi>10." + strings.Repeat("1", 400) + "</prism:doi>"), ""},
		"none":               {packet(""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := extract(t, c.data).DOI; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAttributesOfThePageTreeAreInherited(t *testing.T) {
	t.Parallel()
	const fonts = "/Resources<</Font<</F 5 0 R>>>>"
	sideways := stream("BT /F 10 Tf 0 1 -1 0 100 100 Tm (turned) Tj ET")
	for name, c := range map[string]struct {
		pages, page object
		contents    object
		want        string
	}{
		"fonts":        {"<</Kids[3 0 R]" + fonts + ">>", "<</Contents 4 0 R>>", stream(hello), "Hello, world"},
		"own fonts":    {"<</Kids[3 0 R]/Resources<<>>>>", "<</Contents 4 0 R" + fonts + ">>", stream(hello), "Hello, world"},
		"rotation":     {"<</Kids[3 0 R]/Rotate 90" + fonts + ">>", "<</Contents 4 0 R>>", sideways, "turned"},
		"own rotation": {"<</Kids[3 0 R]/Rotate 0" + fonts + ">>", "<</Contents 4 0 R/Rotate 450>>", sideways, "turned"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, build(catalogue, c.pages, c.page, c.contents, helvetica), c.want)
		})
	}
}

// Two lines on a rotated page come in reading order only if the rotation is applied before layout.
func TestRotatedPagesAreReadUpright(t *testing.T) {
	t.Parallel()
	for rotate, program := range map[int]string{
		0:   "BT /F 10 Tf 1 0 0 1 50 688 Tm (second) Tj 1 0 0 1 50 700 Tm (first) Tj ET",
		90:  "BT /F 10 Tf 0 1 -1 0 112 50 Tm (second) Tj 0 1 -1 0 100 50 Tm (first) Tj ET",
		180: "BT /F 10 Tf -1 0 0 -1 500 112 Tm (second) Tj -1 0 0 -1 500 100 Tm (first) Tj ET",
		270: "BT /F 10 Tf 0 -1 1 0 488 700 Tm (second) Tj 0 -1 1 0 500 700 Tm (first) Tj ET",
	} {
		page := object(fmt.Sprintf("<</Contents 4 0 R/Rotate %d/Resources<</Font<</F 5 0 R>>>>>>", rotate))
		wantText(t, build(catalogue, onePage, page, stream(program), helvetica), "first\nsecond")
	}
}

func TestDamagedPageTrees(t *testing.T) {
	t.Parallel()
	page := "<</Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>"
	for name, c := range map[string]struct {
		pages object
		want  int // pages that say hello
	}{
		"one page":              {"<</Kids[3 0 R]>>", 1},
		"a page twice":          {"<</Kids[3 0 R 3 0 R]>>", 2},
		"a missing page":        {"<</Kids[99 0 R 3 0 R]>>", 1},
		"a page that is a text": {"<</Kids[(x) 3 0 R]>>", 1},
		"a direct page":         {object("<</Kids[" + page + "]>>"), 1},
		"a wrong count":         {"<</Kids[3 0 R]/Count 0>>", 1},
		"a parent as a kid":     {"<</Kids[2 0 R 3 0 R 2 0 R]>>", 1},
		"a page as its tree":    {object(page), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := extract(t, build(catalogue, c.pages, object(page), stream(hello), helvetica))
			if got := strings.Count(text.String(), "Hello, world"); got != c.want {
				t.Errorf("%d pages say hello, want %d", got, c.want)
			}
		})
	}
}

// A deep or wide tree ends at a limit, with the pages before it.
func TestPageTreesHaveALimit(t *testing.T) {
	t.Parallel()
	objects := []object{catalogue, "<</Kids[3 0 R 7 0 R]>>", thePage, stream(hello), helvetica, "null"}
	for i := range 60 {
		objects = append(objects, object(fmt.Sprintf("<</Kids[%d 0 R]>>", 8+i)))
	}
	objects = append(objects, thePage)
	if text := extract(t, build(objects...)); len(text.Pages) != 1 {
		t.Errorf("%d pages, want the one above the limit", len(text.Pages))
	}
	// Each level lists the next one twice: 2^30 pages in thirty objects.
	objects = []object{catalogue, "<</Kids[7 0 R]>>", thePage, stream("BT /F 9 Tf (x) Tj ET"), helvetica, "null"}
	for i := range 30 {
		objects = append(objects, object(fmt.Sprintf("<</Kids[%d 0 R %d 0 R]>>", 8+i, 8+i)))
	}
	objects = append(objects, thePage)
	data := build(objects...)
	text, err := pdf.Extract(data, newBudget(t.Context(), data), pdf.Limits{Pages: 50, Text: 1 << 20})
	if err != nil || len(text.Pages) != 50 || !text.Cut {
		t.Errorf("%d pages, cut %v, %v", len(text.Pages), text.Cut, err)
	}
}

func TestReadingStopsAtTheLimitOfText(t *testing.T) {
	t.Parallel()
	data := build(catalogue, "<</Kids[3 0 R 3 0 R 3 0 R 3 0 R]>>", thePage, stream(hello), helvetica)
	for limit, pages := range map[int]int{0: 1, len("Hello, world") - 1: 1, len("Hello, world"): 2, 1000: 4} {
		text, err := pdf.Extract(data, newBudget(t.Context(), data), pdf.Limits{Pages: 100, Text: limit})
		if err != nil || len(text.Pages) != pages || text.Cut != (pages < 4) {
			t.Errorf("limit %d: %d pages, cut %v, %v; want %d", limit, len(text.Pages), text.Cut, err, pages)
		}
	}
}

func TestPagesAreJoinedByFormFeeds(t *testing.T) {
	t.Parallel()
	data := build(catalogue, "<</Kids[3 0 R 6 0 R 3 0 R]>>", thePage, stream(hello), helvetica, "<</Type/Page>>")
	wantText(t, data, "Hello, world\f\fHello, world") // an empty page keeps the numbers of the others
}

func TestTextOutsideTheVisiblePageIsNotRead(t *testing.T) {
	t.Parallel()
	program := show(50, 700, "The vessel was measured.") + show(50, 780, "proof 12") + show(-200, 700, "slug")
	inherited := object("<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]>>")
	for name, c := range map[string]struct {
		pages object
		boxes string
		want  string
	}{
		"no box":             {onePage, "", "proof 12\n\nslug The vessel was measured."},
		"a media box":        {onePage, "/MediaBox[0 0 600 800]", "proof 12\n\nThe vessel was measured."},
		"an inherited box":   {inherited, "", "proof 12\n\nThe vessel was measured."},
		"a crop box":         {inherited, "/CropBox[-500 0 600 760]", "The vessel was measured."},
		"a rotated page":     {inherited, "/CropBox[0 0 600 760]/Rotate 90", "The vessel was measured."},
		"a box without text": {onePage, "/MediaBox[0 0 600 20]", "proof 12\n\nslug The vessel was measured."},
		"a damaged box":      {onePage, "/MediaBox[0 0 0 0]", "proof 12\n\nslug The vessel was measured."},
	} {
		page := object("<</Type/Page/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>" + c.boxes + ">>")
		got := extract(t, build(catalogue, c.pages, page, stream(program), helvetica)).String()
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
