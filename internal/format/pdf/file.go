package pdf

import (
	"bytes"
	"cmp"
	"compress/flate"
	"io"
	"maps"
	"slices"
	"strconv"

	"carrel/internal/format/budget"
)

// file is an opened PDF file. Its objects are read on demand by number.
type file struct {
	data    []byte
	b       *budget.Budget
	places  map[int]place
	trailer dict
	cache   map[int]any
	// reading holds the objects being read, so that an object that refers to itself resolves to null.
	reading map[int]bool
	packs   map[int]*pack
	// packed is the memory held by packs.
	packed int
	fonts  map[ref]*font
	// inline caches fonts that are not objects of their own, by the address of their dictionary.
	inline map[uintptr]*font
	crypt  *crypt
	// inflater is reused for all streams, because each has 40 KB of tables.
	inflater io.ReadCloser
}

// place locates an object: at an offset, or in an object stream.
type place struct {
	offset int
	pack   int
	inPack bool
}

// pack is a decoded object stream.
type pack struct {
	data    []byte
	offsets map[int]int
}

// maxPacked limits the memory of decoded object streams. Beyond it they are decoded again when needed.
const maxPacked = 16 << 20

// open locates the objects of a file by its cross-reference tables, or by scanning the file if the tables are missing
// or wrong.
func open(data []byte, b *budget.Budget) (*file, error) {
	head := data[:min(len(data), 1024)]
	if !bytes.Contains(head, []byte("%PDF-")) {
		return nil, ErrNotPDF
	}
	f := &file{data: data, b: b, inflater: flate.NewReader(bytes.NewReader(nil))}
	f.reset()
	whole := f.readTables()
	err := f.unlock() // before the catalogue is read, which may be in an encrypted object stream
	if !whole || err == nil && !f.hasPages() {
		f.reset()
		err = f.rebuild()
	}
	if err != nil {
		return nil, err
	}
	if !f.hasPages() {
		return nil, ErrNotPDF
	}
	return f, nil
}

// unlock sets up decryption if the file is encrypted.
func (f *file) unlock() error {
	if f.trailer["Encrypt"] == nil {
		return nil
	}
	c, err := f.newCrypt()
	if err != nil {
		return err
	}
	f.crypt = c
	clear(f.cache) // the cached objects were read before decryption was set up
	f.dropPacks()
	return nil
}

func (f *file) reset() {
	f.places, f.trailer, f.cache = map[int]place{}, dict{}, map[int]any{}
	f.reading, f.packs, f.fonts, f.inline = map[int]bool{}, map[int]*pack{}, map[ref]*font{}, map[uintptr]*font{}
	f.crypt = nil
}

func (f *file) dropPacks() {
	clear(f.packs)
	f.b.Release(f.packed)
	f.packed = 0
}

func (f *file) hasPages() bool { return len(f.dictOf(f.dictOf(f.trailer["Root"])["Pages"])) > 0 }

func (f *file) lexer(at int) *lexer { return &lexer{data: f.data, pos: at, refs: true, b: f.b} }

// readTables follows the cross-reference tables from the newest to the oldest.
func (f *file) readTables() bool {
	tail := max(0, len(f.data)-2048)
	i := bytes.LastIndex(f.data[tail:], []byte("startxref"))
	if i < 0 {
		return false
	}
	at, _ := f.lexer(tail + i + len("startxref")).next()
	seen := map[int]bool{}
	for todo := []any{at}; len(todo) > 0; todo = todo[1:] {
		n, ok := todo[0].(float64)
		offset := int(n)
		if !ok || offset <= 0 || offset >= len(f.data) {
			return false
		}
		if seen[offset] {
			continue
		}
		seen[offset] = true
		t := f.readTable(offset)
		if t == nil {
			return false
		}
		for k, v := range t {
			if _, have := f.trailer[k]; !have {
				f.trailer[k] = v
			}
		}
		for _, k := range []name{"XRefStm", "Prev"} {
			if t[k] != nil {
				todo = append(todo, t[k])
			}
		}
	}
	return true
}

// readTable reads a table or a cross-reference stream and returns its trailer.
func (f *file) readTable(offset int) dict {
	l := f.lexer(offset)
	l.skipSpace()
	if !bytes.HasPrefix(f.data[l.pos:], []byte("xref")) {
		s, ok := f.objectAt(l.pos, -1).(*stream)
		if !ok || !f.readTableStream(s) {
			return nil
		}
		return s.dict
	}
	l.pos += len("xref")
	for {
		x, ok := l.next()
		first, isNumber := x.(float64)
		if !ok {
			return nil
		}
		if x == opword("trailer") {
			t, _ := l.next()
			d, _ := t.(dict)
			return d
		}
		count, _ := l.next()
		n, isCount := count.(float64)
		if !isNumber || !isCount {
			return nil
		}
		for i := range int(min(n, float64(len(f.data)))) {
			at, ok := l.next()
			if !ok {
				break
			}
			_, _ = l.next() // the generation
			if kind, _ := l.next(); kind == opword("n") {
				f.place(int(first)+i, place{offset: asInt(at)})
			}
		}
	}
}

// place records the location of an object, unless a newer table has done so.
func (f *file) place(num int, p place) {
	f.b.Work(workEntry)
	if _, have := f.places[num]; !have && num >= 0 {
		f.b.Hold(memoryEntry)
		f.places[num] = p
	}
}

// readTableStream reads a cross-reference stream (ISO 32000-1, section 7.5.8).
func (f *file) readTableStream(s *stream) bool {
	var w [3]int
	widths := f.arrayOf(s.dict["W"])
	if len(widths) < 3 {
		return false
	}
	for i := range w {
		if w[i] = asInt(widths[i]); w[i] < 0 || w[i] > 8 {
			return false
		}
	}
	row := w[0] + w[1] + w[2]
	data, held := f.decode(s)
	defer f.b.Release(held)
	index := f.arrayOf(s.dict["Index"])
	if len(index) < 2 {
		index = array{0.0, s.dict["Size"]}
	}
	for ; len(index) >= 2 && row > 0; index = index[2:] {
		first := asInt(index[0])
		for i := 0; i < asInt(index[1]) && len(data) >= row; i++ {
			f.b.Work(workEntry)
			kind := 1
			if w[0] > 0 {
				kind = bigEndian(data[:w[0]])
			}
			value := bigEndian(data[w[0] : w[0]+w[1]])
			switch kind {
			case 1:
				f.place(first+i, place{offset: value})
			case 2:
				f.place(first+i, place{pack: value, inPack: true})
			}
			data = data[row:]
		}
	}
	return true
}

func bigEndian(b []byte) (n int) {
	for _, c := range b {
		n = n<<8 | int(c)
	}
	return n
}

// objectStarts calls visit for everything that looks like "12 0 obj".
func (f *file) objectStarts(visit func(num, offset int)) {
	const word = "obj"
	for at := 0; ; {
		i := bytes.Index(f.data[at:], []byte(word))
		if i < 0 {
			return
		}
		end := at + i
		at = end + len(word)
		f.b.Work(workToken + i/16)
		if at < len(f.data) && wordByte(f.data[at]) {
			continue
		}
		gen, ok := numberBefore(f.data, end, 5)
		if !ok {
			continue
		}
		start, ok := numberBefore(f.data, gen, 9)
		if !ok || start > 0 && !space[f.data[start-1]] && f.data[start-1] != '>' {
			continue
		}
		digits := f.data[start:]
		for n := range digits {
			if digits[n] < '0' || digits[n] > '9' {
				num, _ := strconv.Atoi(string(digits[:n])) // nine digits fit an int
				visit(num, start)
				break
			}
		}
	}
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// numberBefore returns the start of the digits before the white space that precedes a position.
func numberBefore(data []byte, at, most int) (start int, ok bool) {
	i := at
	for i > 0 && at-i < 64 && space[data[i-1]] {
		i--
	}
	end := i
	for i > 0 && end-i < most && data[i-1] >= '0' && data[i-1] <= '9' {
		i--
	}
	return i, end < at && i < end
}

// rebuild scans the whole file for objects. The last object with a number wins, as does the object stream nearest to
// the end of the file. It fails if the file needs a password.
func (f *file) rebuild() error {
	f.objectStarts(func(num, offset int) {
		if _, have := f.places[num]; !have {
			f.b.Hold(2 * memoryEntry) // with its place in the lists below
		}
		f.places[num] = place{offset: offset}
	})
	newestFirst := slices.SortedFunc(maps.Keys(f.places), func(a, b int) int {
		return cmp.Compare(f.places[b].offset, f.places[a].offset)
	})
	f.mergeTrailers()
	kinds := make(map[int]name, 8)
	for _, num := range newestFirst {
		switch kind := f.typeOf(num); kind {
		case "ObjStm", "Catalog":
			kinds[num] = kind
		case "XRef": // its dictionary is a trailer
			f.mergeTrailer(f.dictOf(ref{num, 0}))
		}
	}
	if err := f.unlock(); err != nil {
		return err
	}
	f.findCatalog(newestFirst, kinds)
	return nil
}

// mergeTrailer adds the entries of a trailer that newer trailers do not have.
func (f *file) mergeTrailer(d dict) {
	for _, k := range []name{"Root", "Info", "Encrypt", "ID"} {
		if _, have := f.trailer[k]; !have && d[k] != nil {
			f.trailer[k] = d[k]
		}
	}
}

// findCatalog locates the objects in object streams, and a catalogue with pages if the trailer names none.
func (f *file) findCatalog(newestFirst []int, kinds map[int]name) {
	var candidates []int
	for _, num := range newestFirst {
		switch kinds[num] {
		case "Catalog":
			candidates = append(candidates, num)
		case "ObjStm":
			for _, inside := range slices.Sorted(maps.Keys(f.pack(num).offsets)) {
				f.place(inside, place{pack: num, inPack: true})
				candidates = append(candidates, inside)
			}
		}
	}
	for _, num := range candidates {
		if f.hasPages() {
			return
		}
		if f.typeOf(num) == "Catalog" {
			f.trailer["Root"] = ref{num, 0}
		}
	}
}

// mergeTrailers collects the trailers of the file. The last one wins.
func (f *file) mergeTrailers() {
	for rest, at := f.data, 0; ; {
		i := bytes.Index(rest, []byte("trailer"))
		if i < 0 {
			return
		}
		at += i + len("trailer")
		rest = f.data[at:]
		if x, _ := f.lexer(at).next(); x != nil {
			d, _ := x.(dict)
			for k, v := range d {
				f.trailer[k] = v
			}
		}
	}
}

// typeOf returns the type of an object without caching it.
func (f *file) typeOf(num int) name {
	p := f.places[num]
	if p.inPack {
		return f.nameOf(f.dictOf(ref{num, 0})["Type"])
	}
	l := f.lexer(p.offset)
	x, _ := l.body(num)
	d, _ := x.(dict)
	kind := f.nameOf(d["Type"])
	f.b.Release(l.held)
	return kind
}

// get returns an object by its number.
func (f *file) get(num int) any {
	if x, ok := f.cache[num]; ok {
		return x
	}
	p, ok := f.places[num]
	if !ok || f.reading[num] {
		return nil
	}
	f.reading[num] = true
	defer delete(f.reading, num)
	var x any
	if p.inPack {
		x = f.fromPack(p.pack, num)
	} else {
		x = f.objectAt(p.offset, num)
	}
	f.cache[num] = x
	return x
}

// body reads "1 0 obj" and the object after it. A num of -1 accepts any number.
func (l *lexer) body(num int) (x any, self ref) {
	if l.pos < 0 || l.pos >= len(l.data) {
		return nil, ref{}
	}
	own, _ := l.next()
	gen, _ := l.next()
	word, _ := l.next()
	if n, ok := own.(float64); !ok || num >= 0 && int(n) != num || word != opword("obj") {
		return nil, ref{}
	}
	x, _ = l.next()
	return x, ref{asInt(own), asInt(gen)}
}

// objectAt reads the object at an offset. A num of -1 accepts any number.
func (f *file) objectAt(offset, num int) any {
	l := f.lexer(offset)
	x, self := l.body(num)
	d, isDict := x.(dict)
	if !isDict {
		return f.decryptStrings(x, self, 0)
	}
	l.skipSpace()
	if !bytes.HasPrefix(f.data[l.pos:], []byte("stream")) {
		return f.decryptStrings(x, self, 0)
	}
	l.pos += len("stream")
	if l.at(0) == '\r' {
		l.pos++
	}
	if l.at(0) == '\n' {
		l.pos++
	}
	return &stream{dict: d, raw: f.streamBytes(d, l.pos), of: self}
}

// streamBytes returns the data of a stream: as long as its dictionary says if it ends there, else up to "endstream".
func (f *file) streamBytes(d dict, start int) []byte {
	n := asInt(f.resolve(d["Length"]))
	if end := start + n; n >= 0 && end <= len(f.data) && end >= start {
		after := bytes.TrimLeft(f.data[end:min(end+16, len(f.data))], "\r\n \t")
		if bytes.HasPrefix(after, []byte("endstream")) {
			return f.data[start:end]
		}
	}
	size := bytes.Index(f.data[start:], []byte("endstream"))
	if size < 0 {
		size = len(f.data) - start
	}
	f.b.Work(size / 3)
	return f.data[start : start+size]
}

func (f *file) pack(num int) *pack {
	if p, ok := f.packs[num]; ok {
		return p
	}
	p := &pack{offsets: map[int]int{}}
	f.packs[num] = p
	if f.places[num].inPack {
		return p // streams are not nested
	}
	s, ok := f.get(num).(*stream)
	if !ok {
		return p
	}
	data, held := f.decode(s)
	first, count := asInt(f.resolve(s.dict["First"])), asInt(f.resolve(s.dict["N"]))
	if first <= 0 || first > len(data) {
		f.b.Release(held)
		return p
	}
	if f.packed += held; f.packed > maxPacked {
		f.dropPacks()
		f.b.Hold(held)
		f.packed = held
		f.packs[num] = p
	}
	p.data = data[first:]
	l := lexer{data: data[:first], b: f.b}
	for range min(count, len(data)) {
		n, ok := l.next()
		at, _ := l.next()
		if !ok {
			break
		}
		f.b.Hold(memoryEntry)
		f.packed += memoryEntry
		p.offsets[asInt(n)] = asInt(at)
	}
	return p
}

func (f *file) fromPack(packed, num int) any {
	p := f.pack(packed)
	at, ok := p.offsets[num]
	if !ok || at < 0 || at >= len(p.data) {
		return nil
	}
	l := lexer{data: p.data, pos: at, refs: true, b: f.b}
	x, _ := l.next()
	return x
}

// resolve follows references to their object.
func (f *file) resolve(x any) any {
	for range maxNesting {
		r, ok := x.(ref)
		if !ok {
			return x
		}
		f.b.Work(1)
		x = f.get(r.num)
	}
	return nil
}

// dictOf resolves a dictionary, or the dictionary of a stream.
func (f *file) dictOf(x any) dict {
	switch x := f.resolve(x).(type) {
	case dict:
		return x
	case *stream:
		return x.dict
	}
	return nil
}

func (f *file) arrayOf(x any) array { a, _ := f.resolve(x).(array); return a }

func (f *file) nameOf(x any) name { n, _ := f.resolve(x).(name); return n }

func (f *file) numberOf(x any) float64 { n, _ := f.resolve(x).(float64); return n }

func asInt(x any) int {
	n, _ := x.(float64)
	if n > 1<<52 || n < -(1<<52) {
		return -1
	}
	return int(n)
}
