package pdf

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/png"
	"strings"
)

// Image is a picture of a page in a format that text recognition reads: JPEG, PNG or TIFF.
type Image struct {
	MediaType string
	Data      []byte
}

const (
	// maxPictures is the number of images of a page that are recognized. Some scanners write a page as strips.
	maxPictures = 32
	// Images with fewer pixels are logos and rules; an image with more would need too much memory.
	minPixels, maxPixels = 10_000, 60_000_000
	// maxRecognized is the number of pages of a file that are recognized.
	maxRecognized = 1000
)

// recognize reads the text of a page without text from its images, and returns false if there is none.
func (f *file) recognize(c *content, t *Text, l Limits) bool {
	if l.Recognize == nil || len(c.pictures) == 0 || strings.TrimSpace(c.text) != "" || t.Recognized >= maxRecognized {
		return false
	}
	var text []string
	for _, s := range c.pictures {
		picture, held := f.picture(s)
		if picture.Data == nil {
			continue
		}
		var read string
		var err error
		f.b.Outside(func() { read, err = l.Recognize(f.b.Context(), picture) })
		f.b.Release(held)
		f.b.Check()
		if err != nil {
			t.RecognizeError = err
			continue
		}
		if read = strings.TrimSpace(clean(strings.ReplaceAll(read, "\f", "\n"))); read != "" {
			text = append(text, read)
		}
	}
	c.text = strings.Join(text, "\n\n")
	c.plain = c.text
	return c.text != ""
}

// picture converts an image XObject. JPEG and fax data is passed on; bitmaps become PNG files in shades of grey. The
// result is empty for JPEG 2000, JBIG2 and colour spaces that are not supported.
func (f *file) picture(s *stream) (Image, int) {
	width, height := f.whole(s.dict["Width"]), f.whole(s.dict["Height"])
	if width <= 0 || height <= 0 || width > maxPixels/height || width*height < minPixels {
		return Image{}, 0
	}
	data, held, rest, params := f.unpack(s)
	switch rest {
	case "DCTDecode", "DCT":
		return Image{"image/jpeg", data}, held
	case "CCITTFaxDecode", "CCF":
		if fax := f.fax(data, params, width, height); fax != nil {
			return Image{"image/tiff", fax}, held
		}
	case "":
		if encoded := f.bitmap(s.dict, data, width, height); encoded != nil {
			return Image{"image/png", encoded}, held
		}
	}
	f.b.Release(held)
	return Image{}, 0
}

func (f *file) whole(x any) int {
	n, _ := f.resolve(x).(float64)
	return int(n)
}

// fax wraps fax data in a TIFF file (TIFF 6.0, sections 10 and 11). Black runs are black, whatever BlackIs1 says: text
// is darker than its background in nearly all scans.
func (f *file) fax(data []byte, params dict, width, height int) []byte {
	if aligned, _ := f.resolve(params["EncodedByteAlign"]).(bool); aligned {
		return nil
	}
	if columns := f.whole(params["Columns"]); columns > 0 {
		width = columns
	} else if params["Columns"] == nil {
		width = 1728 // ISO 32000-1, table 11
	}
	compression, options := uint32(4), uint32(0)
	if k := f.whole(params["K"]); k >= 0 {
		compression, options = 3, uint32(min(k, 1))
	}
	const entries, header = 9, 8
	start := uint32(header + 2 + entries*12 + 4)
	var b bytes.Buffer
	b.WriteString("II*\x00")
	put := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(&b, binary.LittleEndian, v) // a buffer accepts all bytes
		}
	}
	put(uint32(header), uint16(entries))
	for _, e := range [entries][2]uint32{
		{256, uint32(width)},
		{257, uint32(height)},
		{258, 1},
		{259, compression},
		{262, 0},
		{273, start},
		{278, uint32(height)},
		{279, uint32(len(data))},
		{292 + compression - 3, options},
	} {
		put(uint16(e[0]), uint16(4), uint32(1), e[1])
	}
	put(uint32(0))
	b.Write(data)
	return b.Bytes()
}

// bitmap encodes samples as a PNG file in shades of grey.
func (f *file) bitmap(d dict, data []byte, width, height int) []byte {
	bits := f.whole(d["BitsPerComponent"])
	grey, components := f.shades(d["ColorSpace"])
	if mask, _ := f.resolve(d["ImageMask"]).(bool); mask {
		bits, components, grey = 1, 1, greyOf
	}
	if components == 0 || bits != 1 && bits != 2 && bits != 4 && bits != 8 {
		return nil
	}
	row := (width*components*bits + 7) / 8
	if len(data) < row*height {
		return nil
	}
	f.b.Work(4 * width * height)
	f.b.Hold(2 * width * height)
	defer f.b.Release(2 * width * height)
	inverted := false
	if decode := f.arrayOf(d["Decode"]); len(decode) > 0 {
		inverted = f.resolve(decode[0]) == 1.0
	}
	page := image.NewGray(image.Rect(0, 0, width, height))
	pixel := make([]byte, components)
	for y := range height {
		line := data[y*row : (y+1)*row]
		for x := range width {
			for c := range components {
				pixel[c] = sample(line, (x*components+c)*bits, bits)
			}
			shade := grey(pixel, bits)
			if inverted {
				shade = 255 - shade
			}
			page.Pix[y*page.Stride+x] = shade
		}
	}
	var out bytes.Buffer
	if (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, page) != nil {
		return nil
	}
	return out.Bytes()
}

// sample returns the value of bits at a bit position; samples do not cross bytes.
func sample(line []byte, at, bits int) byte {
	return line[at/8] >> (8 - bits - at%8) & byte(1<<bits-1)
}

// greyOf returns the shade of a grey, RGB or CMYK pixel.
func greyOf(pixel []byte, bits int) byte {
	most := 1<<bits - 1
	level := func(i int) int { return int(pixel[i]) * 255 / most }
	switch len(pixel) {
	case 3:
		return byte((299*level(0) + 587*level(1) + 114*level(2)) / 1000)
	case 4:
		light := 255*1000 - 299*level(0) - 587*level(1) - 114*level(2)
		return byte(light / 1000 * (255 - level(3)) / 255)
	}
	return byte(level(0))
}

// shades returns how the pixels of a colour space become shades of grey, and the number of components; 0 means that it
// is not supported.
func (f *file) shades(x any) (grey func(pixel []byte, bits int) byte, components int) {
	list := f.list(x)
	if len(list) == 0 {
		return nil, 0
	}
	switch f.nameOf(list[0]) {
	case "DeviceGray", "G", "CalGray":
		return greyOf, 1
	case "DeviceRGB", "RGB", "CalRGB":
		return greyOf, 3
	case "DeviceCMYK", "CMYK":
		return greyOf, 4
	case "ICCBased":
		if len(list) > 1 {
			if s, ok := f.resolve(list[1]).(*stream); ok {
				if n := f.whole(s.dict["N"]); n == 1 || n == 3 || n == 4 {
					return greyOf, n
				}
			}
		}
	case "Indexed", "I":
		if len(list) > 3 {
			return f.palette(list)
		}
	}
	return nil, 0
}

// palette returns the shades of an indexed colour space.
func (f *file) palette(list array) (grey func(pixel []byte, bits int) byte, components int) {
	if base := f.list(list[1]); len(base) == 0 || f.nameOf(base[0]) == "Indexed" || f.nameOf(base[0]) == "I" {
		return nil, 0
	}
	_, n := f.shades(list[1])
	var table []byte
	switch lookup := f.resolve(list[3]).(type) {
	case str:
		table = []byte(lookup)
	case *stream:
		data, held := f.decode(lookup)
		table = bytes.Clone(data[:min(len(data), 4*256)])
		f.b.Release(held)
	}
	if n == 0 {
		return nil, 0
	}
	return func(pixel []byte, _ int) byte {
		at := int(pixel[0]) * n
		if at+n > len(table) {
			return 255
		}
		return greyOf(table[at:at+n], 8)
	}, 1
}
