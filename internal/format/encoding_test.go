package format

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// Sentences of different scripts.
const (
	german       = "Die Größe der Häuser änderte sich über die Jahre – „schöne“ Straßen blieben."
	french       = "L’élève a été reçu à l’école où ses frères étudiaient déjà."
	russian      = "Каждый человек имеет право на образование, и оно должно быть бесплатным."
	greek        = "Κάθε άνθρωπος έχει δικαίωμα στην εκπαίδευση και στην ελευθερία της σκέψης."
	japaneseText = "すべての人は教育を受ける権利を有する。教育は、少なくとも初等の段階では無償でなければならない。"
	koreanText   = "모든 사람은 교육을 받을 권리를 가진다. 교육은 최소한 초등 단계에서는 무상이어야 한다."
	chinese      = "人人都有受教育的权利，教育应当免费，至少在初级和基本阶段应如此。"
	chineseT     = "人人都有受教育的權利，教育應當免費，至少在初級和基本階段應如此。"
)

func encoded(t *testing.T, e encoding.Encoding, s string) []byte {
	t.Helper()
	out, err := e.NewEncoder().String(s)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(out)
}

func TestTextsWithoutADeclarationAreDecoded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		encoding encoding.Encoding
		text     string
	}{
		"Windows-1252":   {charmap.Windows1252, german},
		"ISO 8859-1":     {charmap.ISO8859_1, strings.NewReplacer("–", "-", "„", `"`, "“", `"`).Replace(german)},
		"French":         {charmap.Windows1252, french},
		"Windows-1251":   {charmap.Windows1251, russian},
		"KOI8-R":         {charmap.KOI8R, russian},
		"Windows-1253":   {charmap.Windows1253, greek},
		"Shift JIS":      {japanese.ShiftJIS, japaneseText},
		"EUC-JP":         {japanese.EUCJP, japaneseText},
		"EUC-KR":         {korean.EUCKR, koreanText},
		"GBK":            {simplifiedchinese.GBK, chinese},
		"Big5":           {traditionalchinese.Big5, chineseT},
		"UTF-16, marked": {unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), german},
		"UTF-8, marked":  {unicode.UTF8BOM, japaneseText},
	} {
		d, err := parsePlain(testBudget(t), "a.txt", encoded(t, c.encoding, c.text))
		if err != nil || d.Text != c.text {
			t.Errorf("%s: %q (%v)", name, d.Text, err)
		}
	}
}

func TestPagesAreDecodedAsTheyDeclare(t *testing.T) {
	t.Parallel()
	const polish = "Zażółć gęślą jaźń"
	for name, c := range map[string]struct {
		encoding encoding.Encoding
		head     string
		text     string
	}{
		"meta charset": {charmap.ISO8859_2, `<meta charset="iso-8859-2">`, polish},
		"http-equiv": {
			charmap.Windows1250, `<META http-equiv=Content-Type content="text/html; charset=windows-1250">`, polish,
		},
		"XML declaration":     {charmap.ISO8859_2, `<?xml version="1.0" encoding="ISO-8859-2"?>`, polish},
		"seven bits":          {japanese.ISO2022JP, `<meta charset=iso-2022-jp>`, japaneseText},
		"Shift JIS":           {japanese.ShiftJIS, `<meta charset="Shift_JIS">`, japaneseText},
		"a false declaration": {unicode.UTF8, `<meta charset="iso-8859-1">`, polish},
		"an unknown one":      {charmap.Windows1252, `<meta charset="klingon">`, german},
		"none":                {charmap.Windows1252, "", german},
	} {
		d, err := parseHTML(testBudget(t), "a.html", append([]byte(c.head+"<p>"), encoded(t, c.encoding, c.text)...))
		if err != nil || d.Text != c.text {
			t.Errorf("%s: %q (%v)", name, d.Text, err)
		}
	}
	damaged := []byte("<meta charset=utf-8><p>caf\xe9 crème")
	if d, err := parseHTML(testBudget(t), "a.html", damaged); err != nil || d.Text != "caf\ufffd crème" {
		t.Errorf("damaged UTF-8: %q (%v)", d.Text, err)
	}
}

func TestBytesThatAreNoTextAreRefused(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"a picture": "\x89PNG\r\n\x1a\n\x00\x00\xff", "noise": strings.Repeat("\x01\x9d\x8f\x02\xfe\x05", 50),
		"gzip": "\x1f\x8b\x08\x08\x01\x02\x03\x04\xff\xfe\xfa\x11\x12\x13",
	} {
		if d, err := parsePlain(testBudget(t), "a.txt", []byte(data)); err == nil {
			t.Errorf("%s: %q", name, d.Text)
		}
	}
}
