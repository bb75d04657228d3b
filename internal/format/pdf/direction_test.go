package pdf_test

import (
	"strings"
	"testing"
)

func TestTurnedTextHasWordsAndLines(t *testing.T) {
	t.Parallel()
	lines := func(matrix string, tail ...string) string {
		return "BT /F 10 Tf 12 TL " + matrix + " Tm (first line) Tj T* (second one) Tj ET " + strings.Join(tail, "")
	}
	for name, program := range map[string]string{
		"upward":              lines("0 1 -1 0 100 100"),
		"downward":            lines("0 -1 1 0 100 700"),
		"upside down":         lines("-1 0 0 -1 300 300"),
		"mirrored":            lines("-1 0 0 1 300 300"),
		"a negative size":     "BT /F -10 Tf -12 TL -1 0 0 -1 50 700 Tm (first line) Tj T* (second one) Tj ET",
		"words far from each": "BT /F 10 Tf 0 1 -1 0 100 100 Tm (first) Tj 30 0 Td (line) Tj -30 -12 Td (second one) Tj ET",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, onePageOf(helvetica, program), "first line\nsecond one")
		})
	}
}

const verticalMap = "2 beginbfrange <0001> <0009> <65E5> <0041> <005A> <0041> endbfrange"

func TestVerticalWritingIsReadFromTheRight(t *testing.T) {
	t.Parallel()
	font := object("<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-V/DescendantFonts[7 0 R]/ToUnicode 8 0 R>>")
	data := onePageOf(font, "BT /F 10 Tf 1 0 0 1 300 700 Tm <004100420043> Tj 1 0 0 1 285 700 Tm <00440045> Tj ET",
		cidFont, stream(verticalMap))
	wantText(t, data, "ABC\nDE")
}

// hebrew maps codes from 1 on to the letters alef, bet, gimel and dalet; letters, digits and punctuation stand for
// themselves.
const hebrew = "2 beginbfrange <0001> <0004> <05D0> <0020> <007E> <0020> endbfrange"

func TestRightToLeftTextIsInTheOrderOfReading(t *testing.T) {
	t.Parallel()
	at := func(x int, codes string) string {
		return "BT /F 10 Tf " + string([]byte{byte('0' + x/100), byte('0' + x/10%10), byte('0' + x%10)}) + " 700 Td <" +
			codes + "> Tj ET "
	}
	for name, c := range map[string]struct{ program, want string }{
		"drawn from left to right": {at(100, "000300020001"), "אבג"},
		"drawn as it is read":      {at(110, "0001") + at(105, "0002") + at(100, "0003"), "אבג"},
		"two words":                {at(100, "0004000300200002"+"0001"), "אב גד"},
		"a number":                 {at(100, "0002000100200031003900340038"), "1948 אב"},
		"brackets":                 {at(100, "0028000200010029"), "(אב)"},
		"a word in a Latin line":   {at(100, "0041004200430044002000020001002000450046"), "ABCD אב EF"},
		"Latin in the line":        {at(100, "00020001000300200041004200200002000100040003"), "גדאב AB גאב"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := onePageOf(composite("/ToUnicode 8 0 R"), c.program, cidFont, stream(hebrew))
			wantText(t, data, c.want)
		})
	}
}

func TestStandardFontsHaveTheirWidths(t *testing.T) {
	t.Parallel()
	for base, gap := range map[string]string{"Helvetica": "12", "Times-Roman": "10", "Courier": "22"} {
		font := object("<</Type/Font/Subtype/Type1/BaseFont/" + base + ">>")
		// Three narrow letters, then a word behind a gap that the default width would fill.
		wantText(t, onePageOf(font, "BT /F 10 Tf 50 700 Td (ill) Tj "+gap+" 0 Td (then) Tj ET"), "ill then")
	}
}
