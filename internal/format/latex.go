package format

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// texAccents maps accent commands to combining characters.
var texAccents = map[string]string{
	"'": "\u0301", "`": "\u0300", "^": "\u0302", `"`: "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307",
	"u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "k": "\u0328", "r": "\u030a", "d": "\u0323", "b": "\u0331",
}

// texSymbols maps commands to characters.
var texSymbols = map[string]string{
	"TeX": "TeX", "LaTeX": "LaTeX", "LaTeXe": "LaTeX2e", "BibTeX": "BibTeX",
	"ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł",
	"aa": "å", "AA": "Å", "i": "i", "j": "j", "dh": "ð", "th": "þ", "DH": "Ð", "TH": "Þ", "ldots": "…",
	"dots": "…", "textendash": "–", "textemdash": "—",
	"textquoteright": "’", "textquoteleft": "‘", "textbackslash": `\`, "textasciitilde": "~", "alpha": "α", "beta": "β",
	"gamma": "γ", "delta": "δ", "epsilon": "ε", "lambda": "λ", "mu": "μ", "pi": "π", "sigma": "σ", "tau": "τ",
	"phi": "φ", "omega": "ω", "times": "×", "to": "→", "rightarrow": "→", "leq": "≤", "geq": "≥", "infty": "∞", "pm": "±",
	"textregistered": "®", "S": "§",
}

// texSpaces maps the commands for spaces, hyphenation and line breaks to their text.
var texSpaces = map[string]string{",": " ", ":": " ", ";": " ", "!": "", "-": "", "/": "", "@": "", `\`: " "}

var texDashes = strings.NewReplacer("---", "—", "--", "–", "``", "“", "''", "”")

// delatex converts LaTeX to plain text: accents and symbols become characters, braces and formatting are removed.
func delatex(s string) string {
	if !strings.ContainsAny(s, "\\{}~$-`'") {
		return strings.Join(strings.Fields(s), " ")
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '{', '}', '$':
			i++
		case '~':
			out.WriteByte(' ')
			i++
		case '\\':
			i = texCommand(&out, s, i+1)
		default:
			out.WriteByte(c)
			i++
		}
	}
	return strings.Join(strings.Fields(texDashes.Replace(norm.NFC.String(out.String()))), " ")
}

// texCommand writes the text of a command and returns the position after it.
func texCommand(out *strings.Builder, s string, i int) int {
	if i >= len(s) {
		return i
	}
	name := s[i : i+1]
	end := i + 1
	if letter(s[i]) {
		for end < len(s) && letter(s[end]) {
			end++
		}
		name = s[i:end]
	}
	if accent, ok := texAccents[name]; ok {
		base, next := texArgument(s, end)
		if base == "" {
			return next
		}
		out.WriteString(base)
		out.WriteString(accent)
		return next
	}
	if letter(s[i]) {
		for end < len(s) && (s[end] == ' ' || s[end] == '\n') { // a command swallows the space after it
			end++
		}
		out.WriteString(texSymbols[name])
		return end
	}
	if space, ok := texSpaces[name]; ok {
		name = space
	}
	out.WriteString(name) // \&, \%, \_ and so on
	return end
}

// texArgument returns the letter under an accent: the next character or command, with or without braces.
func texArgument(s string, i int) (base string, next int) {
	depth := 0
	for i < len(s) && (s[i] == ' ' || s[i] == '{') {
		if s[i] == '{' {
			depth++
		}
		i++
	}
	if i >= len(s) {
		return "", i
	}
	if s[i] == '\\' {
		end := i + 1
		for end < len(s) && letter(s[end]) {
			end++
		}
		base, i = texSymbols[s[i+1:end]], end
	} else {
		for n := range s[i:] {
			if n > 0 {
				base = s[i : i+n]
				break
			}
		}
		if base == "" {
			base = s[i:]
		}
		i += len(base)
		if base == "}" {
			return "", i
		}
	}
	for ; depth > 0 && i < len(s) && s[i] == '}'; depth-- {
		i++
	}
	return base, i
}

// texEscapes removes the escapes of addresses and DOIs, in which other commands don't occur.
var texEscapes = strings.NewReplacer(
	`\_`, "_", `\%`, "%", `\&`, "&", `\#`, "#", `\~{}`, "~", `\~`, "~", "{", "", "}", "",
)

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
