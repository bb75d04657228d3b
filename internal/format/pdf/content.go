package pdf

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// glyph is a character at its position on the page, in points from the lower left corner.
type glyph struct {
	text string
	// x and y are the start of its baseline, end is the x where it ends.
	x, y, end float64
	// size is the effective font size.
	size float64
	// turn is the direction of the text. Coordinates are those of a page that is turned so that the text is upright.
	turn turn
	bold bool
	// note is set for form fields and annotations, which are no part of the printed page.
	note bool
	// artifact is set in marked content that is no part of the text, such as page numbers.
	artifact bool
	// outside is set for text outside the visible part of the page.
	outside bool
}

// turn is a direction of text on a page.
type turn int

const (
	upright turn = iota
	upward
	upsideDown
	downward // also vertical writing, whose columns follow each other from right to left
	mirrored
	turns
)

// turnOf returns the direction of text with a matrix.
func turnOf(m matrix) turn {
	switch {
	case math.Abs(m[1]) > math.Abs(m[0]) && m[1] > 0:
		return upward
	case math.Abs(m[1]) > math.Abs(m[0]):
		return downward
	case m[0] < 0 && m[3] > 0:
		return mirrored
	case m[0] < 0:
		return upsideDown
	}
	return upright
}

// place returns the coordinates of a point on the turned page.
func (t turn) place(x, y float64) (tx, ty float64) {
	switch t {
	case upward:
		return y, -x
	case upsideDown:
		return -x, -y
	case downward:
		return -y, x
	case mirrored:
		return -x, y
	}
	return x, y
}

// matrix is a transformation matrix in PDF notation.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// times returns the transformation m followed by n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// state is the graphics state that text depends on.
type state struct {
	ctm                                matrix
	font                               *font
	size, chars, words, scale, leading float64
	rise                               float64
}

const (
	maxForms  = 12 // nesting of form XObjects
	maxStates = 128
)

// reader interprets a content stream and collects its glyphs.
type reader struct {
	f      *file
	state  state
	saved  []state
	text   matrix
	line   matrix
	glyphs []glyph
	// done and plain are the text of the batches that are laid out. title, titleBelow and row are those of the first
	// batch.
	done, plain strings.Builder
	title       string
	titleBelow  string
	row         bool
	// notes is set while annotations are read.
	notes bool
	// visible is the visible part of the page if boxed is set.
	visible [4]float64
	boxed   bool
	// hidden counts the open marked-content sections that are artifacts, such as page numbers.
	hidden int
	marked []bool
	// images is set if the page draws an image.
	images bool
	// pictures are the image XObjects of the page, up to maxPictures.
	pictures []*stream
	// drawn counts the glyphs, unread those without a known text.
	drawn, unread int
}

// maxLaidOut is the number of glyphs that are laid out at once, because layout needs several times the memory of the
// glyphs. Pages have a few thousand; a longer page is laid out in batches.
const (
	maxLaidOut   = 50_000
	memoryLayOut = 300
	// longLine is more glyphs than a line has.
	longLine = 2000
)

// content is what was read from a page.
type content struct {
	// plain is the text without marks of headings and annotations; title, titleBelow and row are as in laidOut.
	text, plain, title, titleBelow string
	row                            bool
	images                         bool
	pictures                       []*stream
	drawn, unread                  int
}

// readPage returns the text of a page, including its form fields and annotations.
func (f *file) readPage(p page) content {
	ctm := identity
	switch p.rotate {
	case 90:
		ctm = matrix{0, -1, 1, 0, 0, 0}
	case 180:
		ctm = matrix{-1, 0, 0, -1, 0, 0}
	case 270:
		ctm = matrix{0, 1, -1, 0, 0, 0}
	}
	r := &reader{f: f, state: state{ctm: ctm, scale: 1}, text: identity, line: identity}
	r.visible, r.boxed = f.visible(p, ctm)
	program, held := f.contents(p)
	r.run(program, p.resources, 0)
	f.b.Release(held)
	r.annotations(p, ctm)
	r.layOut()
	f.b.Release(r.done.Len() + r.plain.Len())
	return content{
		text: r.done.String(), plain: r.plain.String(), title: r.title, titleBelow: r.titleBelow, row: r.row,
		images: r.images, pictures: r.pictures, drawn: r.drawn, unread: r.unread,
	}
}

// layOut lays out the collected glyphs.
func (r *reader) layOut() {
	size := memoryLayOut * len(r.glyphs)
	r.f.b.Hold(size)
	out := layOut(withoutArtifacts(withoutOutside(r.glyphs)))
	r.f.b.Release(size)
	r.f.b.Hold(len(out.text) + len(out.plain))
	if r.done.Len() == 0 {
		r.title, r.titleBelow, r.row = out.title, out.titleBelow, out.row
	} else {
		r.done.WriteByte('\n')
		r.plain.WriteByte('\n')
	}
	r.done.WriteString(out.text)
	r.plain.WriteString(out.plain)
	r.glyphs = r.glyphs[:0]
}

// withoutOutside removes the text outside the visible part of a page, such as the rest of a page that was cropped. If
// it is most of the text, the box is wrong.
func withoutOutside(glyphs []glyph) []glyph {
	n := 0
	for _, g := range glyphs {
		if g.outside {
			n++
		}
	}
	if n == 0 || 2*n > len(glyphs) {
		return glyphs
	}
	return slices.DeleteFunc(glyphs, func(g glyph) bool { return g.outside })
}

// maxArtifacts is the number of glyphs of headers and footers on a page. Some programs mark whole pages as artifacts.
const maxArtifacts = 300

// withoutArtifacts removes the artifacts of a page, unless they are so long that they must be its text.
func withoutArtifacts(glyphs []glyph) []glyph {
	n := 0
	for _, g := range glyphs {
		if g.artifact {
			n++
		}
	}
	if n == 0 || n > maxArtifacts || n == len(glyphs) {
		return glyphs
	}
	return slices.DeleteFunc(glyphs, func(g glyph) bool { return g.artifact })
}

// maxOperands limits the operands of an operator. TJ takes a single array.
const maxOperands = 64

func (r *reader) run(program []byte, resources dict, depth int) {
	l := lexer{data: program, b: r.f.b}
	operands := make([]any, 0, maxOperands)
	for {
		x, ok := l.next()
		if !ok {
			l.b.Release(l.held)
			return
		}
		op, isOp := x.(opword)
		if !isOp {
			if len(operands) == maxOperands {
				operands = append(operands[:0], operands[1:]...)
			}
			operands = append(operands, x)
			continue
		}
		switch op {
		case "BI":
			r.images = true
			skipImage(&l)
		case "Do":
			r.form(operands, resources, depth)
		default:
			r.do(op, operands, resources)
		}
		operands = operands[:0]
		l.b.Release(l.held)
		l.held = 0
	}
}

// skipImage skips an inline image: any bytes up to "EI".
func skipImage(l *lexer) {
	for {
		x, ok := l.next()
		if !ok {
			return
		}
		if x == opword("ID") {
			break
		}
	}
	start := l.pos
	defer func() { l.b.Work(l.pos - start) }()
	for i := l.pos + 1; i+2 < len(l.data); i++ {
		if l.data[i] == 'E' && l.data[i+1] == 'I' && space[l.data[i-1]] && space[l.data[i+2]] {
			l.pos = i + 2
			return
		}
	}
	l.pos = len(l.data)
}

// form interprets a form XObject.
func (r *reader) form(operands []any, resources dict, depth int) {
	if len(operands) == 0 || depth >= maxForms {
		return
	}
	which, _ := operands[0].(name)
	s, ok := r.f.resolve(r.f.dictOf(resources["XObject"])[which]).(*stream)
	switch {
	case !ok:
	case r.f.nameOf(s.dict["Subtype"]) == "Image":
		r.images = true
		if len(r.pictures) < maxPictures {
			r.pictures = append(r.pictures, s)
		}
	case r.f.nameOf(s.dict["Subtype"]) == "Form":
		r.runForm(s, resources, identity, depth)
	}
}

// runForm interprets a form XObject, which place moves after the form's own matrix.
func (r *reader) runForm(s *stream, resources dict, place matrix, depth int) {
	if own := r.f.dictOf(s.dict["Resources"]); own != nil {
		resources = own
	}
	before, saved, text, line := r.state, r.saved, r.text, r.line
	r.state.ctm = r.f.matrixOf(s.dict["Matrix"]).times(place).times(r.state.ctm)
	r.saved = nil
	program, held := r.f.decode(s)
	r.run(program, resources, depth+1)
	r.f.b.Release(held)
	r.state, r.saved, r.text, r.line = before, saved, text, line
}

// matrixOf returns a matrix, by default the identity.
func (f *file) matrixOf(x any) matrix {
	list := f.arrayOf(x)
	if len(list) != 6 {
		return identity
	}
	var m matrix
	for i := range m {
		m[i] = f.numberOf(list[i])
	}
	return m
}

func (r *reader) do(op opword, operands []any, resources dict) {
	n := func(i int) float64 {
		if i < len(operands) {
			v, _ := operands[i].(float64)
			return v
		}
		return 0
	}
	s := &r.state
	switch op {
	case "q":
		if len(r.saved) < maxStates {
			r.saved = append(r.saved, *s)
		}
	case "Q":
		if k := len(r.saved); k > 0 {
			*s, r.saved = r.saved[k-1], r.saved[:k-1]
		}
	case "cm":
		s.ctm = matrix{n(0), n(1), n(2), n(3), n(4), n(5)}.times(s.ctm)
	case "BT":
		r.text, r.line = identity, identity
	case "Tf":
		if len(operands) >= 2 {
			which, _ := operands[0].(name)
			s.font, s.size = r.f.font(resources, which), n(1)
		}
	case "Tc":
		s.chars = n(0)
	case "Tw":
		s.words = n(0)
	case "Tz":
		s.scale = n(0) / 100
	case "TL":
		s.leading = n(0)
	case "Ts":
		s.rise = n(0)
	case "Td":
		r.move(n(0), n(1))
	case "TD":
		s.leading = -n(1)
		r.move(n(0), n(1))
	case "Tm":
		r.line = matrix{n(0), n(1), n(2), n(3), n(4), n(5)}
		r.text = r.line
	case "T*":
		r.move(0, -s.leading)
	case "Tj":
		r.show(operands)
	case "'":
		r.move(0, -s.leading)
		r.show(operands)
	case "\"":
		if len(operands) == 3 {
			s.words, s.chars = n(0), n(1)
			r.move(0, -s.leading)
			r.show(operands[2:])
		}
	case "TJ":
		if len(operands) > 0 {
			list, _ := operands[0].(array)
			r.show(list)
		}
	case "BMC", "BDC":
		r.mark(len(operands) > 0 && operands[0] == name("Artifact"))
	case "EMC":
		if k := len(r.marked); k > 0 {
			if r.marked[k-1] {
				r.hidden--
			}
			r.marked = r.marked[:k-1]
		}
	}
}

// mark opens a marked-content section. Artifacts usually repeat on every page and are not part of the text.
func (r *reader) mark(artifact bool) {
	if len(r.marked) >= maxStates {
		return
	}
	r.marked = append(r.marked, artifact)
	if artifact {
		r.hidden++
	}
}

func (r *reader) move(x, y float64) {
	r.line = matrix{1, 0, 0, 1, x, y}.times(r.line)
	r.text = r.line
}

// show handles TJ: it draws strings and moves by the numbers between them.
func (r *reader) show(items []any) {
	s := &r.state
	if s.font == nil {
		return
	}
	for _, item := range items {
		switch item := item.(type) {
		case float64:
			r.advance(-item / 1000 * s.size)
		case str:
			s.font.decode(string(item), r.f.b, r.draw)
		}
	}
}

// advance moves along the line of writing.
func (r *reader) advance(by float64) {
	if r.state.font.vertical {
		r.text[4] += by * r.text[2]
		r.text[5] += by * r.text[3]
		return
	}
	by *= r.state.scale
	r.text[4] += by * r.text[0]
	r.text[5] += by * r.text[1]
}

func (r *reader) draw(c code) {
	s := &r.state
	r.f.b.Work(workGlyph)
	width := c.width * s.size
	m := matrix{s.scale, 0, 0, 1, 0, s.rise}.times(r.text).times(s.ctm)
	if s.size < 0 { // which turns the glyphs
		m[0], m[1], m[2], m[3] = -m[0], -m[1], -m[2], -m[3]
	}
	g := glyph{text: c.text, size: math.Abs(s.size) * math.Hypot(m[2], m[3]), turn: turnOf(m), artifact: r.hidden > 0}
	g.bold, g.note, g.outside = s.font.bold, r.notes, r.outside(m[4], m[5], g.size)
	step := width + s.chars
	if s.font.vertical {
		g.turn = turnOf(matrix{-m[2], -m[3], m[0], m[1]})
		g.x, g.y = g.turn.place(m[4], m[5])
		g.end = g.x + g.size
		step = s.chars - s.size
	} else {
		g.x, g.y = g.turn.place(m[4], m[5])
		g.end = g.x + math.Abs(width)*math.Hypot(m[0], m[1])
	}
	r.drawn++
	if c.text == "" {
		r.unread++
	}
	r.add(g)
	if c.space {
		step += s.words
	}
	r.advance(step)
}

// outside reports whether a glyph is outside the visible part of the page by more than its size.
func (r *reader) outside(x, y, size float64) bool {
	return r.boxed && (x < r.visible[0]-size || y < r.visible[1]-size || x > r.visible[2]+size || y > r.visible[3]+size)
}

// add collects a glyph that has a text and a place.
func (r *reader) add(g glyph) {
	if utf8.ValidString(g.text) && g.text != "" && sane(g.x) && sane(g.y) && sane(g.end) && g.size > 0.1 {
		// A batch ends at the end of a line, so that no word is divided, unless the line is endless.
		if k := len(r.glyphs); k >= maxLaidOut && (r.glyphs[k-1].y != g.y || k >= maxLaidOut+longLine) {
			r.layOut()
		}
		r.glyphs = append(r.glyphs, g)
	}
}

// sane rejects coordinates that only damaged files have.
func sane(v float64) bool { return v > -1e6 && v < 1e6 }
