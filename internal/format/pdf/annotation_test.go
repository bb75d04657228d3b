package pdf_test

import (
	"strings"
	"testing"
)

// annotated builds a page with a line of text and annotations; further objects start at number 7.
func annotated(annotations string, more ...object) []byte {
	page := object("<</Type/Page/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>/Annots[" + annotations + "]>>")
	return build(append([]object{catalogue, onePage, page, stream(show(50, 700, "page")), helvetica, "null"}, more...)...)
}

const fieldForm = object("<</Subtype/Form/BBox[0 0 100 20]/Resources<</Font<</F 5 0 R>>>>/Length 33>>stream\n" +
	"BT /F 10 Tf 2 5 Td (shown) Tj ET \nendstream")

func TestFormFieldsAndFreeTextsAreText(t *testing.T) {
	t.Parallel()
	const rect, shown = "/Rect[50 600 150 620]", "page\n\nshown"
	for name, c := range map[string]struct{ annotations, want string }{
		"a field with an appearance": {"<</Subtype/Widget" + rect + "/AP<</N 7 0 R>>>>", shown},
		"a free text":                {"<</Subtype/FreeText" + rect + "/AP<</N 7 0 R>>>>", shown},
		"the state of a button":      {"<</Subtype/Widget/AS/On/AP<</N<</On 7 0 R/Off 6 0 R>>>>" + rect + ">>", shown},
		"a field without appearance": {"<</Subtype/Widget/FT/Tx/V(typed)" + rect + ">>", "page\n\ntyped"},
		"a choice of two":            {"<</Subtype/Widget/FT/Ch/V[(one)(two)]" + rect + ">>", "page\n\none\ntwo"},
		"an inherited value":         {"<</Subtype/Widget/Parent<</FT/Tx/V(of parent)>>" + rect + ">>", "page\n\nof parent"},
		"a free text without one":    {"<</Subtype/FreeText/Contents(a remark)" + rect + ">>", "page\n\na remark"},
		"a hidden field":             {"<</Subtype/Widget/F 2/FT/Tx/V(typed)" + rect + ">>", "page"},
		"the value of a button":      {"<</Subtype/Widget/FT/Btn/V(typed)" + rect + ">>", "page"},
		"a pop-up":                   {"<</Subtype/Popup/Contents(typed)" + rect + ">>", "page"},
		"a field without a place":    {"<</Subtype/Widget/FT/Tx/V(typed)>>", "page"},
		"no annotation":              {"7 null (x)", "page"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, annotated(c.annotations, fieldForm), c.want)
		})
	}
}

func TestAnAppearanceIsScaledIntoItsRectangle(t *testing.T) {
	t.Parallel()
	// The field is on the line of the page's text, so that its place shows in the order of the words.
	data := annotated("<</Subtype/Widget/Rect[0 698 10 700]/AP<</N 7 0 R>>>>", fieldForm)
	if got := strings.Fields(extract(t, data).String()); len(got) != 2 {
		t.Errorf("got %q", got)
	}
}

func TestAFieldThatIsItsOwnParentEnds(t *testing.T) {
	t.Parallel()
	data := annotated("7 0 R", "<</Subtype/Widget/Parent 7 0 R/Rect[50 600 150 620]>>")
	wantText(t, data, "page")
}

func TestBodyTextInArtifactsIsKept(t *testing.T) {
	t.Parallel()
	wantText(t, onePageOf(helvetica, "/Artifact BMC "+show(50, 700, "alone on the page")+" EMC"), "alone on the page")
	long := strings.Repeat("many words ", 30)
	data := onePageOf(helvetica, show(50, 700, "body")+"/Artifact BMC "+show(50, 688, long)+" EMC")
	wantText(t, data, "body\n"+strings.TrimSpace(long))
}
