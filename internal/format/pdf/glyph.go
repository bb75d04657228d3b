package pdf

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
)

// glyphText returns the text of a glyph name, such as "f_f_i", "uni00E9", "eacute", "Delta" or "a.sc" (Adobe Glyph
// List specification).
func glyphText(glyph string) string {
	if s, ok := glyphNames[glyph]; ok {
		return s
	}
	base, _, _ := strings.Cut(glyph, ".") // the suffix names a variant of the shape
	if base == "" {
		return ""
	}
	if strings.Contains(base, "_") {
		var out strings.Builder
		for part := range strings.SplitSeq(base, "_") {
			out.WriteString(glyphPart(part))
		}
		return out.String()
	}
	return glyphPart(base)
}

func glyphPart(glyph string) string {
	if s, ok := glyphNames[glyph]; ok {
		return s
	}
	if utf8.RuneCountInString(glyph) == 1 {
		return glyph
	}
	if s := numbered(glyph); s != "" {
		return s
	}
	if n, ok := strings.CutPrefix(glyph, "afii"); ok {
		return afii(n)
	}
	// A letter followed by the name of an accent.
	letter := glyph[:1]
	if accent, ok := accents[glyph[1:]]; ok && isLetter(letter[0]) {
		return norm.NFC.String(letter + accent)
	}
	return ""
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// numbered decodes "uni20AC20AC" and "u1F600".
func numbered(glyph string) string {
	if hex, ok := strings.CutPrefix(glyph, "uni"); ok && len(hex) >= 4 && len(hex)%4 == 0 && len(hex) <= 16 {
		var out strings.Builder
		for ; hex != ""; hex = hex[4:] {
			v, err := strconv.ParseUint(hex[:4], 16, 32)
			if err != nil {
				return ""
			}
			out.WriteRune(rune(v))
		}
		return clean(out.String())
	}
	if hex, ok := strings.CutPrefix(glyph, "u"); ok && len(hex) >= 4 && len(hex) <= 6 {
		if v, err := strconv.ParseUint(hex, 16, 32); err == nil && v <= utf8.MaxRune {
			return clean(string(rune(v)))
		}
	}
	return ""
}

// afiiRuns are runs of the afii names of Cyrillic and Hebrew letters that follow each other.
var afiiRuns = []struct {
	number int
	text   string
}{
	{10017, "АБВГДЕЁЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ"},
	{10065, "абвгдеёжзийклмнопрстуфхцчшщъыьэюя"},
	{57664, "אבגדהוזחטיךכלםמןנסעףפץצקרשת"},
	{61352, "№"},
}

// afii returns the letter of a name such as "afii10017", given its number.
func afii(number string) string {
	n, err := strconv.Atoi(number)
	if err != nil {
		return ""
	}
	for _, run := range afiiRuns {
		i := n - run.number
		for _, r := range run.text {
			if i == 0 {
				return string(r)
			}
			i--
		}
	}
	return ""
}

var accents = map[string]string{
	"acute": "\u0301", "grave": "\u0300", "circumflex": "\u0302", "dieresis": "\u0308", "tilde": "\u0303",
	"ring":  "\u030a",
	"caron": "\u030c", "cedilla": "\u0327", "macron": "\u0304", "breve": "\u0306", "ogonek": "\u0328",
	"dotaccent":    "\u0307",
	"hungarumlaut": "\u030b", "commaaccent": "\u0326", "dotbelow": "\u0323", "hookabove": "\u0309",
}

// glyphNames are the names that follow no rule, including TeX's.
var glyphNames = readGlyphNames(`
space= exclam=! quotedbl=" numbersign=# dollar=$ percent=% ampersand=& quotesingle=' parenleft=( parenright=)
asterisk=* plus=+ comma=, hyphen=- period=. slash=/ zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7
eight=8 nine=9 colon=: semicolon=; less=< equal== greater=> question=? at=@ bracketleft=[ backslash=\ bracketright=]
asciicircum=^ underscore=_ grave=` + "`" + ` braceleft={ bar=| braceright=} asciitilde=~ quoteleft=‘ quoteright=’
quotedblleft=“ quotedblright=” quotesinglbase=‚ quotedblbase=„ guillemotleft=« guillemotright=» guilsinglleft=‹
guilsinglright=› endash=– emdash=— bullet=• ellipsis=… dagger=† daggerdbl=‡ perthousand=‰ trademark=™ fi=fi fl=fl ff=ff
ffi=ffi ffl=ffl fraction=⁄ exclamdown=¡ questiondown=¿ cent=¢ sterling=£ currency=¤ yen=¥ Euro=€ euro=€ florin=ƒ
section=§ paragraph=¶ copyright=© registered=® degree=° plusminus=± twosuperior=² threesuperior=³ onesuperior=¹ mu=µ
periodcentered=· onequarter=¼ onehalf=½ threequarters=¾ ordfeminine=ª ordmasculine=º brokenbar=¦ logicalnot=¬
multiply=× divide=÷ germandbls=ß AE=Æ ae=æ OE=Œ oe=œ Oslash=Ø oslash=ø Lslash=Ł lslash=ł Eth=Ð eth=ð Thorn=Þ thorn=þ
Dcroat=Đ dcroat=đ Hbar=Ħ hbar=ħ dotlessi=ı dotlessj=ȷ kgreenlandic=ĸ Eng=Ŋ eng=ŋ Tbar=Ŧ tbar=ŧ ij=ĳ IJ=Ĳ longs=ſ
nbspace= sfthyphen=- hyphenminus=- minus=− summation=∑ product=∏ integral=∫ radical=√ infinity=∞ partialdiff=∂
approxequal=≈ notequal=≠ lessequal=≤ greaterequal=≥ lozenge=◊ Delta=Δ Omega=Ω element=∈ arrowright=→ arrowleft=←
arrowup=↑ arrowdown=↓ arrowboth=↔ arrowdblright=⇒ arrowdblleft=⇐ arrowdblboth=⇔ universal=∀ existential=∃ emptyset=∅
intersection=∩ union=∪ propersubset=⊂ propersuperset=⊃ reflexsubset=⊆ reflexsuperset=⊇ logicaland=∧ logicalor=∨
similar=∼ equivalence=≡ proportional=∝ congruent=≅ circleplus=⊕ circlemultiply=⊗ dotmath=⋅ gradient=∇ nabla=∇ aleph=ℵ
angbracketleft=⟨ angbracketright=⟩ angleleft=⟨ angleright=⟩ floorleft=⌊ floorright=⌋ ceilingleft=⌈ ceilingright=⌉
bardbl=∥ prime=′ asteriskmath=∗ perpendicular=⊥ therefore=∴ lscript=ℓ weierstrass=℘ Ifraktur=ℑ Rfraktur=ℜ
Alpha=Α Beta=Β Gamma=Γ Epsilon=Ε Zeta=Ζ Eta=Η Theta=Θ Iota=Ι Kappa=Κ Lambda=Λ Mu=Μ Nu=Ν Xi=Ξ Omicron=Ο Pi=Π Rho=Ρ
Sigma=Σ Tau=Τ Upsilon=Υ Phi=Φ Chi=Χ Psi=Ψ alpha=α beta=β gamma=γ delta=δ epsilon=ε epsilon1=ϵ zeta=ζ eta=η theta=θ
theta1=ϑ iota=ι kappa=κ lambda=λ nu=ν xi=ξ omicron=ο pi=π pi1=ϖ rho=ρ rho1=ϱ sigma=σ sigma1=ς tau=τ upsilon=υ phi=φ
phi1=ϕ chi=χ psi=ψ omega=ω acute=´ circumflex=ˆ tilde=˜ macron=¯ breve=˘ dotaccent=˙ dieresis=¨ ring=˚ cedilla=¸
hungarumlaut=˝ ogonek=˛ caron=ˇ visiblespace= compwordmark= suppress= period1=. negationslash=/ mapsto=↦ star=⋆
openbullet=◦ diamondmath=⋄ slurabove=⌢ slurbelow=⌣ precedesequal=⪯ followsequal=⪰ lessmuch=≪ greatermuch=≫
turnstileleft=⊢
`)

func readGlyphNames(list string) map[string]string {
	out := map[string]string{}
	for entry := range strings.FieldsSeq(list) {
		glyph, text, _ := strings.Cut(entry, "=")
		out[glyph] = text
	}
	out["space"], out["nbspace"], out["visiblespace"] = " ", " ", " "
	return out
}

// The predefined encodings, by code.
var (
	winAnsiEncoding  = ofCharmap(charmap.Windows1252)
	macRomanEncoding = ofCharmap(charmap.Macintosh)
	standardEncoding = ofRanges(map[int]string{
		0x27: "’", 0x60: "‘", 0xa1: "¡¢£⁄¥ƒ§¤'“«‹›", 0xb1: "–†‡·", 0xb6: "¶•‚„”»…‰", 0xbf: "¿", 0xc1: "`´ˆ˜¯˘˙¨", 0xca: "˚¸",
		0xcd: "˝˛ˇ—", 0xe1: "Æ", 0xe3: "ª", 0xe8: "ŁØŒº", 0xf1: "æ", 0xf5: "ı", 0xf8: "łøœß", 0xae: "ﬁﬂ",
	})
	// docEncoding is PDFDocEncoding, the encoding of metadata. It equals Latin-1 where it has no entry.
	docEncoding = ofRanges(map[int]string{
		0x18: "˘ˇˆ˙˝˛˚˜", 0x80: "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž", 0xa0: "€",
	})
	symbolEncoding = ofRanges(map[int]string{
		0x22: "∀", 0x24: "∃", 0x27: "∋", 0x2d: "−", 0x40: "≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", 0x5c: "∴", 0x5e: "⊥",
		0x61: "αβχδεφγηιϕκλμνοπθρστυϖωξψζ",
		0xa3: "≤⁄∞", 0xb0: "°±″≥×∝∂•÷≠≡≈…", 0xc5: "⊕∅∩∪⊃⊇⊄⊂⊆∈∉", 0xd5: "∏√⋅¬∧∨⇔⇐⇑⇒⇓", 0xe5: "∑", 0xf2: "∫",
	})
)

func ofCharmap(m *charmap.Charmap) (out [256]rune) {
	for i := range out {
		if r := m.DecodeByte(byte(i)); i >= ' ' && i != 0x7f && r != utf8.RuneError {
			out[i] = r
		}
	}
	return out
}

// ofRanges returns ASCII, extended by runs of characters that start at given codes.
func ofRanges(runs map[int]string) (out [256]rune) {
	for i := ' '; i < 0x7f; i++ {
		out[i] = i
	}
	for at, run := range runs {
		for _, r := range run {
			out[at] = r
			at++
		}
	}
	return out
}
