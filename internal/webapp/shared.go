package webapp

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/lazyregexp"
	"carrel/internal/transcript"
)

// sharedPage is the content of the page of a shared thread.
type sharedPage struct {
	Title     string
	CreatedAt time.Time
	Messages  []sharedMessage
	// Works are the entries of the bibliography.
	Works []markup
}

// sharedMessage is a message with its text as HTML. ID begins the ids of its quotes on the page.
type sharedMessage struct {
	transcript.Message
	ID   string
	HTML markup
}

// showShared shows the thread of a link. The address is a secret, so the page is neither indexed nor cached, and its
// links send no referrer. All addresses that show nothing get the same reply.
func (a *App) showShared(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Robots-Tag", "noindex, nofollow")
	link, t, err := a.Links.Open(r.Context(), r.PathValue("token"))
	if core.IsKind(err, core.KindNotFound) {
		a.fail(w, r, http.StatusNotFound, "not_found")
		return
	}
	if err != nil {
		a.serverError(w, r, err)
		return
	}
	p := sharedPage{Title: t.Title, CreatedAt: link.CreatedAt}
	texts := textsFor(r)
	for i, m := range t.Messages {
		shown := sharedMessage{Message: m, ID: "quote-" + strconv.Itoa(i+1)}
		h := htmlWriter{texts: texts, quotes: map[string]string{}}
		for _, q := range m.Quotes {
			n := strconv.Itoa(q.N)
			h.quotes["["+n+"]"] = "#" + shown.ID + "-" + n
		}
		h.blocks(m.Blocks())
		shown.HTML = h.html()
		p.Messages = append(p.Messages, shown)
	}
	for _, work := range t.Works {
		h := htmlWriter{texts: texts}
		h.spans(transcript.EntrySpans(work))
		p.Works = append(p.Works, h.html())
	}
	a.show(w, r, http.StatusOK, "shared", p)
}

// htmlWriter writes formatted text as HTML. Every text is escaped; the only links are those to quotes of the page and
// the addresses of works.
type htmlWriter struct {
	strings.Builder
	texts texts
	// quotes are the addresses of the quotes by their marks, such as [1].
	quotes map[string]string
}

func (h *htmlWriter) html() markup {
	return markup(h.String()) //nolint:gosec // every text is escaped
}

func (h *htmlWriter) write(parts ...string) {
	for _, p := range parts {
		_, _ = h.WriteString(p)
	}
}

func (h *htmlWriter) blocks(blocks []transcript.Block) {
	for _, b := range blocks {
		h.block(b)
	}
}

func (h *htmlWriter) block(b transcript.Block) {
	switch b.Kind {
	case transcript.Heading:
		tag := "h" + strconv.Itoa(min(6, b.Level+2)) // below those of the page
		h.element(tag, func() { h.spans(b.Spans) })
	case transcript.Code:
		h.write("<pre><code>", escapeText(b.Text), "</code></pre>")
	case transcript.Rule:
		h.write("<hr>")
	case transcript.Quotation:
		h.element("blockquote", func() { h.items(b, "") })
	case transcript.BulletList:
		h.element("ul", func() { h.items(b, "li") })
	case transcript.NumberedList:
		h.write(`<ol start="`, strconv.Itoa(b.Start), `">`)
		h.items(b, "li")
		h.write("</ol>")
	case transcript.Table:
		h.table(b)
	default:
		h.element("p", func() { h.spans(b.Spans) })
	}
}

func (h *htmlWriter) element(tag string, content func()) {
	h.write("<", tag, ">")
	content()
	h.write("</", tag, ">")
}

func (h *htmlWriter) items(b transcript.Block, tag string) {
	for _, item := range b.Items {
		if tag == "" {
			h.blocks(item)
			continue
		}
		h.element(tag, func() { h.blocks(item) })
	}
}

func (h *htmlWriter) table(b transcript.Block) {
	h.write(`<div class="scroll" tabindex="0"><table>`)
	for i, row := range b.Rows {
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		h.element("tr", func() {
			for _, cell := range row {
				h.element(tag, func() { h.spans(cell) })
			}
		})
	}
	h.write("</table></div>")
}

// spans writes spans. A sentence with a verdict has it as its tooltip and, for screen readers, as text after it. The
// mark of a problem is visible.
func (h *htmlWriter) spans(spans []transcript.Span) {
	for _, s := range spans {
		verdict := ""
		if s.State != "" {
			verdict = h.texts.text("verdict." + string(s.State))
			h.write(`<span class="s-`, escapeText(string(s.State)), `" title="`,
				escapeText(verdict), `">`)
		}
		h.span(s)
		if verdict != "" {
			h.write("</span>")
		}
		switch {
		case s.Mark() != "":
			h.write(` <span class="mark">[`, escapeText(verdict), `]</span>`)
		case s.Ends:
			h.write(`<span class="hidden"> (`, escapeText(verdict), `)</span>`)
		}
	}
}

var citationMark = lazyregexp.New(`\[\d{1,4}\]`)

func (h *htmlWriter) span(s transcript.Span) {
	var tags []string
	for _, style := range []struct {
		on  bool
		tag string
	}{{s.Bold, "strong"}, {s.Italic, "em"}, {s.Strike, "s"}, {s.Code, "code"}} {
		if style.on {
			tags = append(tags, style.tag)
			h.write("<", style.tag, ">")
		}
	}
	switch {
	case strings.HasPrefix(s.Link, "https://"), strings.HasPrefix(s.Link, "http://"):
		h.write(`<a href="`, escapeText(s.Link), `" rel="noopener noreferrer nofollow">`,
			escapeText(s.Text), "</a>")
	case s.Code:
		h.write(escapeText(s.Text))
	default:
		h.text(s.Text)
	}
	for i := len(tags) - 1; i >= 0; i-- {
		h.write("</", tags[i], ">")
	}
}

// text writes text with links from citation marks to their quotes.
func (h *htmlWriter) text(text string) {
	from := 0
	for _, at := range citationMark.FindAllStringIndex(text, -1) {
		mark := text[at[0]:at[1]]
		if h.quotes[mark] == "" {
			continue
		}
		h.plain(text[from:at[0]])
		h.write(`<a href="`, h.quotes[mark], `">`, mark, "</a>")
		from = at[1]
	}
	h.plain(text[from:])
}

func (h *htmlWriter) plain(text string) {
	h.write(strings.ReplaceAll(escapeText(text), "\n", "<br>"))
}
