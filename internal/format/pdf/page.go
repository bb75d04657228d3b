package pdf

import (
	"cmp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// page is a page with its inherited attributes.
type page struct {
	dict      dict
	resources dict
	rotate    int
	// media and crop are the boxes of the page, whose common part is visible.
	media, crop any
}

const (
	maxTreeDepth = 40
	maxTreeNodes = 100_000
)

// eachPage visits the page tree in order until visit returns false. Cycles are skipped.
func (f *file) eachPage(visit func(n int, p page) bool) {
	n, nodes := 0, 0
	onPath := map[int]bool{}
	var walk func(x any, inherited page, depth int) bool
	walk = func(x any, inherited page, depth int) bool {
		if r, ok := x.(ref); ok {
			if onPath[r.num] {
				return true
			}
			onPath[r.num] = true
			defer delete(onPath, r.num)
		}
		if nodes++; nodes > maxTreeNodes || depth > maxTreeDepth {
			return false
		}
		f.b.Work(workEntry)
		d := f.dictOf(x)
		if d == nil {
			return true
		}
		p := inherited
		p.dict, p.media, p.crop = d, cmp.Or(d["MediaBox"], p.media), cmp.Or(d["CropBox"], p.crop)
		if r := f.dictOf(d["Resources"]); r != nil {
			p.resources = r
		}
		if r, ok := f.resolve(d["Rotate"]).(float64); ok {
			p.rotate = (int(r)%360 + 360) % 360
		}
		if kids := f.arrayOf(d["Kids"]); kids != nil {
			for _, kid := range kids {
				if !walk(kid, p, depth+1) {
					return false
				}
			}
			return true
		}
		goesOn := visit(n, p)
		n++
		return goesOn
	}
	walk(f.dictOf(f.trailer["Root"])["Pages"], page{}, 0)
}

// minVisible is the least width and height of a page in points. Smaller boxes are damaged.
const minVisible = 10

// visible returns the visible part of a page in the coordinates of a matrix, or false if the file does not say it.
func (f *file) visible(p page, ctm matrix) (box [4]float64, ok bool) {
	box, ok = f.rectangle(p.media)
	if crop, cropped := f.rectangle(p.crop); cropped {
		if ok {
			crop = [4]float64{
				max(box[0], crop[0]), max(box[1], crop[1]), min(box[2], crop[2]), min(box[3], crop[3]),
			}
		}
		box, ok = crop, true
	}
	if !ok || box[2]-box[0] < minVisible || box[3]-box[1] < minVisible {
		return box, false
	}
	low, high := matrix{1, 0, 0, 1, box[0], box[1]}.times(ctm), matrix{1, 0, 0, 1, box[2], box[3]}.times(ctm)
	return [4]float64{
		min(low[4], high[4]), min(low[5], high[5]), max(low[4], high[4]), max(low[5], high[5]),
	}, true
}

// contents returns the joined content streams of a page and the memory reserved for them.
func (f *file) contents(p page) (program []byte, held int) {
	parts := f.list(p.dict["Contents"])
	if len(parts) == 1 {
		s, ok := f.resolve(parts[0]).(*stream)
		if !ok {
			return nil, 0
		}
		return f.decode(s)
	}
	whole := f.newSink(0)
	for _, part := range parts[:min(len(parts), 10_000)] {
		if s, ok := f.resolve(part).(*stream); ok {
			data, size := f.decode(s)
			whole.add(data)
			whole.add([]byte{'\n'})
			f.b.Release(size)
		}
	}
	return whole.data, cap(whole.data)
}

// info returns the metadata of the file.
func (f *file) info() (t Text) {
	d := f.dictOf(f.trailer["Info"])
	get := func(key name) string {
		s, _ := f.resolve(d[key]).(str)
		return strings.TrimSpace(textString(string(s)))
	}
	t.Title, t.Author, t.Subject = get("Title"), get("Author"), get("Subject")
	t.Keywords, t.Created = get("Keywords"), get("CreationDate")
	t.DOI = strings.TrimSpace(get("doi") + get("DOI") + get("WPS-ARTICLEDOI"))
	if s, ok := f.resolve(f.dictOf(f.trailer["Root"])["Metadata"]).(*stream); ok {
		packet, held := f.decode(s)
		t.addXMP(string(packet[:min(len(packet), maxXMP)]))
		f.b.Release(held)
	}
	return t
}

// textString decodes a text string: UTF-16 or UTF-8 with a byte order mark, else PDFDocEncoding (ISO 32000-1, section
// 7.9.2.2).
func textString(s string) string {
	switch {
	case strings.HasPrefix(s, "\xfe\xff"):
		return utf16Text(s[2:])
	case strings.HasPrefix(s, "\xef\xbb\xbf"):
		s = s[3:]
		if utf8.ValidString(s) {
			return clean(s)
		}
	}
	var out strings.Builder
	for i := range len(s) {
		r := docEncoding[s[i]]
		if r == 0 {
			r = rune(s[i])
		}
		out.WriteRune(r)
	}
	return normal(out.String())
}

func utf16Text(s string) string {
	units := make([]uint16, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		units = append(units, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return clean(string(utf16.Decode(units)))
}

// clean removes control and replacement characters.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == utf8.RuneError || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}
