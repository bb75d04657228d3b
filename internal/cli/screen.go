package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

// Widths of text in columns.
const (
	// plainWidth is the width of wrapped text if the output is no terminal.
	plainWidth = 80
	maxWidth   = 100
)

// screen formats output for people: colours, links and the width of the terminal, or plain text if the output is a file
// or a pipe.
type screen struct {
	out      io.Writer
	terminal bool
	colour   bool
	width    int
}

// newScreen inspects an output of a command.
func newScreen(env *Env, out io.Writer) *screen {
	s := &screen{out: out, width: plainWidth}
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	s.terminal = true
	s.colour = env.Getenv("NO_COLOR") == "" && env.Getenv("TERM") != "dumb"
	if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 20 {
		s.width = min(columns, maxWidth)
	}
	return s
}

func (s *screen) style(code, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s *screen) bold(text string) string { return s.style("1", text) }
func (s *screen) dim(text string) string  { return s.style("2", text) }

// link makes text clickable in terminals that support OSC 8. Only web addresses are linked, because the address comes
// from a document.
func (s *screen) link(address, text string) string {
	if !s.colour || !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") ||
		address != clean(address) {
		return text
	}
	return "\x1b]8;;" + address + "\x1b\\" + text + "\x1b]8;;\x1b\\"
}

// clean removes control characters from text of a server, which could drive the terminal. Line breaks and tabs stay.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			return r
		}
		return -1
	}, text)
}

// oneLine returns text as one clean line of at most width columns.
func oneLine(text string, width int) string {
	text = strings.Join(strings.Fields(clean(text)), " ")
	if uniseg.StringWidth(text) <= width {
		return text
	}
	var out strings.Builder
	used := 0
	for rest := text; rest != ""; {
		cluster, following, w, _ := uniseg.FirstGraphemeClusterInString(rest, -1)
		if used += w; used >= width {
			break
		}
		out.WriteString(cluster)
		rest = following
	}
	return out.String() + "…"
}

// table prints rows in columns. On a terminal the last column is cut at its width.
func (s *screen) table(header []string, rows [][]string) error {
	widths := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], uniseg.StringWidth(oneLine(cell, maxWidth)))
		}
	}
	var b strings.Builder
	write := func(row []string, format func(string) string) {
		used := 0
		for i, cell := range row {
			text := oneLine(cell, maxWidth)
			if i == len(row)-1 {
				if s.terminal {
					text = oneLine(cell, max(10, s.width-used))
				}
				b.WriteString(format(text) + "\n")
				return
			}
			b.WriteString(format(text) + strings.Repeat(" ", widths[i]-uniseg.StringWidth(text)+2))
			used += widths[i] + 2
		}
	}
	write(header, s.bold)
	for _, row := range rows {
		write(row, func(text string) string { return text })
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}

// wrap returns text wrapped at the width, every line indented.
func (s *screen) wrap(text, indent string) string {
	var b strings.Builder
	w := &wrapWriter{out: &b, width: s.width, indent: indent}
	w.write(clean(text))
	w.flush()
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// wrapWriter wraps text that arrives in pieces. A word is written when the space after it has arrived.
type wrapWriter struct {
	out    io.Writer
	width  int
	indent string
	column int
	word   strings.Builder
	// space reports whether a space precedes the word.
	space bool
	// hang begins the continuation lines of a quote or a list item.
	hang string
	err  error
}

func (w *wrapWriter) write(piece string) {
	for piece != "" {
		r, size := utf8.DecodeRuneInString(piece)
		piece = piece[size:]
		switch {
		case r == '\n':
			w.flush()
			w.print("\n")
			w.column, w.space, w.hang = 0, false, ""
		case unicode.IsSpace(r):
			w.flush()
			w.space = w.column > 0
		default:
			w.word.WriteRune(r)
		}
	}
}

// flush writes the pending word.
func (w *wrapWriter) flush() {
	word := w.word.String()
	if word == "" {
		return
	}
	w.word.Reset()
	columns := uniseg.StringWidth(word)
	if w.column > 0 && w.space && w.column+1+columns > w.width {
		w.print("\n" + w.indent + w.hang)
		w.column, w.space = uniseg.StringWidth(w.indent)+len(w.hang), false
	}
	if w.column == 0 {
		w.print(w.indent)
		w.column = uniseg.StringWidth(w.indent)
		w.hang = map[string]string{">": "> ", "-": "  ", "*": "  "}[word]
	} else if w.space {
		w.print(" ")
		w.column++
	}
	w.print(word)
	w.column += columns
	w.space = false
}

func (w *wrapWriter) print(text string) {
	if w.err == nil {
		_, w.err = fmt.Fprint(w.out, text)
	}
}
