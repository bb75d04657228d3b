package pdf

import (
	"math"
	"strings"
)

const (
	maxAnnotations = 10_000
	maxFieldDepth  = 16
	// Annotation flags (ISO 32000-1, section 12.5.3).
	flagHidden = 1 << 1
	flagNoView = 1 << 5
	// fieldSize is the font size of a field without an appearance.
	fieldSize = 10
)

// annotations reads the form fields and text annotations of a page: their appearance, or else their value.
func (r *reader) annotations(p page, ctm matrix) {
	r.notes = true
	list := r.f.arrayOf(p.dict["Annots"])
	for _, x := range list[:min(len(list), maxAnnotations)] {
		r.f.b.Work(workEntry)
		a := r.f.dictOf(x)
		if asInt(r.f.resolve(a["F"]))&(flagHidden|flagNoView) != 0 || r.f.nameOf(a["Subtype"]) == "Popup" {
			continue
		}
		// Marked content and graphics states of the page end with it.
		r.state, r.saved, r.text, r.line = state{ctm: ctm, scale: 1}, nil, identity, identity
		r.hidden, r.marked = 0, nil
		if s := r.f.appearance(a); s != nil {
			r.runForm(s, r.f.fieldResources(), r.f.appearancePlace(a, s), 0)
			continue
		}
		r.value(a)
	}
}

// appearance returns the normal appearance of an annotation in its current state, or nil.
func (f *file) appearance(a dict) *stream {
	switch n := f.resolve(f.dictOf(a["AP"])["N"]).(type) {
	case *stream:
		return n
	case dict:
		s, _ := f.resolve(n[f.nameOf(a["AS"])]).(*stream)
		return s
	}
	return nil
}

// fieldResources returns the default resources of form fields.
func (f *file) fieldResources() dict {
	return f.dictOf(f.dictOf(f.dictOf(f.trailer["Root"])["AcroForm"])["DR"])
}

// rectangle returns the corners of a rectangle in ascending order, or false.
func (f *file) rectangle(x any) (r [4]float64, ok bool) {
	list := f.arrayOf(x)
	if len(list) != 4 {
		return r, false
	}
	for i := range r {
		r[i] = f.numberOf(list[i])
	}
	return [4]float64{min(r[0], r[2]), min(r[1], r[3]), max(r[0], r[2]), max(r[1], r[3])}, true
}

// appearancePlace returns the matrix that moves an appearance into the rectangle of its annotation (ISO 32000-1,
// section 12.5.5).
func (f *file) appearancePlace(a dict, s *stream) matrix {
	rect, ok := f.rectangle(a["Rect"])
	box, boxed := f.rectangle(s.dict["BBox"])
	if !ok || !boxed {
		return identity
	}
	m := f.matrixOf(s.dict["Matrix"])
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for _, x := range []float64{box[0], box[2]} {
		for _, y := range []float64{box[1], box[3]} {
			at := matrix{1, 0, 0, 1, x, y}.times(m)
			for i := range 2 {
				low[i], high[i] = min(low[i], at[4+i]), max(high[i], at[4+i])
			}
		}
	}
	scale := [2]float64{1, 1}
	for i := range scale {
		if high[i] > low[i] && rect[2+i] > rect[i] {
			scale[i] = (rect[2+i] - rect[i]) / (high[i] - low[i])
		}
	}
	return matrix{scale[0], 0, 0, scale[1], rect[0] - low[0]*scale[0], rect[1] - low[1]*scale[1]}
}

// value adds the value of a text or choice field, or the contents of a free text, that has no appearance.
func (r *reader) value(a dict) {
	var x any
	switch r.f.nameOf(a["Subtype"]) {
	case "FreeText":
		x = a["Contents"]
	case "Widget":
		if kind := r.f.nameOf(r.f.inherited(a, "FT")); kind == "Tx" || kind == "Ch" {
			x = r.f.inherited(a, "V")
		}
	}
	rect, ok := r.f.rectangle(a["Rect"])
	if x == nil || !ok {
		return
	}
	y := rect[3]
	for _, part := range r.f.list(x) {
		s, _ := r.f.resolve(part).(str)
		for l := range strings.FieldsFuncSeq(textString(string(s)), func(c rune) bool { return c == '\n' || c == '\r' }) {
			r.f.b.Work(workGlyph)
			y -= 1.2 * fieldSize
			at := matrix{1, 0, 0, 1, rect[0], y}.times(r.state.ctm)
			r.add(glyph{text: l, x: at[4], y: at[5], end: at[4] + rect[2] - rect[0], size: fieldSize, note: true})
		}
	}
}

// inherited returns an attribute of a form field or of its nearest ancestor that has it.
func (f *file) inherited(field dict, key name) any {
	for range maxFieldDepth {
		if x := f.resolve(field[key]); x != nil || field == nil {
			return x
		}
		field = f.dictOf(field["Parent"])
	}
	return nil
}
