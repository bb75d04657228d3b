package pdf_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/png"
	"testing"

	"carrel/internal/format/budget"
	"carrel/internal/format/pdf"
)

// imagePage builds a file of one page that draws the image XObject X, with entries of its dictionary and its data.
func imagePage(entries string, data []byte) []byte {
	picture := object(fmt.Sprintf("<</Subtype/Image%s/Length %d>>stream\n%s\nendstream", entries, len(data), data))
	return build(catalogue, onePage, thePage, stream("q 600 0 0 800 0 0 cm /X Do Q"), helvetica, picture)
}

func deflated(data []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

// recognized returns the images that are recognized in a file, and its text.
func recognized(t *testing.T, data []byte, text string, fail error) ([]pdf.Image, pdf.Text, error) {
	t.Helper()
	var seen []pdf.Image
	limits := pdf.DefaultLimits
	limits.Recognize = func(_ context.Context, i pdf.Image) (string, error) {
		seen = append(seen, pdf.Image{MediaType: i.MediaType, Data: bytes.Clone(i.Data)})
		return text, fail
	}
	out, err := pdf.Extract(data, budget.New(t.Context(), budget.Default, int64(len(data)), nil), limits)
	return seen, out, err
}

func TestBitmapsArePassedToTheRecognitionInShadesOfGrey(t *testing.T) {
	t.Parallel()
	fill := func(pixels int, sample ...byte) []byte { return bytes.Repeat(sample, pixels) }
	const size = "/Width 200/Height 100"
	for name, c := range map[string]struct {
		entries string
		data    []byte
		want    uint8
	}{
		"grey":          {"/BitsPerComponent 8/ColorSpace/DeviceGray", fill(20_000, 77), 77},
		"RGB":           {"/BitsPerComponent 8/ColorSpace/DeviceRGB", fill(20_000, 255, 0, 0), 76},
		"CMYK":          {"/BitsPerComponent 8/ColorSpace/DeviceCMYK", fill(20_000, 0, 0, 0, 255), 0},
		"one bit":       {"/BitsPerComponent 1/ColorSpace/DeviceGray", fill(100*25, 0xff), 255},
		"inverted":      {"/BitsPerComponent 1/ColorSpace/DeviceGray/Decode[1 0]", fill(100*25, 0xff), 0},
		"mask":          {"/ImageMask true", fill(100*25, 0x00), 0},
		"four bits":     {"/BitsPerComponent 4/ColorSpace/DeviceGray", fill(100*100, 0x55), 85},
		"palette":       {"/BitsPerComponent 8/ColorSpace[/Indexed/DeviceRGB 1 <000000ffffff>]", fill(20_000, 1), 255},
		"short palette": {"/BitsPerComponent 8/ColorSpace[/Indexed/DeviceRGB 1 <00>]", fill(20_000, 1), 255},
	} {
		data := imagePage(size+"/Filter/FlateDecode"+c.entries, deflated(c.data))
		seen, text, err := recognized(t, data, "  A scanned\fpage \n", nil)
		if err != nil || len(seen) != 1 || seen[0].MediaType != "image/png" {
			t.Errorf("%s: %v, %d images", name, err, len(seen))
			continue
		}
		picture, err := png.Decode(bytes.NewReader(seen[0].Data))
		if err != nil {
			t.Fatal(err)
		}
		if got := picture.(*image.Gray).GrayAt(199, 99).Y; got != c.want || picture.Bounds().Dx() != 200 {
			t.Errorf("%s: the shade is %d, want %d", name, got, c.want)
		}
		if text.String() != "A scanned\npage" || text.Recognized != 1 || text.Images != 0 {
			t.Errorf("%s: %+v", name, text)
		}
	}
}

func TestEncodedImagesArePassedOn(t *testing.T) {
	t.Parallel()
	photo := []byte("\xff\xd8\xff the bytes of a photo")
	const size = "/Width 1000/Height 500"
	seen, _, err := recognized(t, imagePage(size+"/Filter[/FlateDecode/DCTDecode]", deflated(photo)), "x", nil)
	if err != nil || len(seen) != 1 || seen[0].MediaType != "image/jpeg" || !bytes.Equal(seen[0].Data, photo) {
		t.Errorf("a photo: %v %q", err, seen)
	}
	fax := imagePage(size+"/Filter/CCITTFaxDecode/DecodeParms<</K -1/Columns 1000>>", []byte("fax"))
	seen, _, err = recognized(t, fax, "x", nil)
	if err != nil || len(seen) != 1 || seen[0].MediaType != "image/tiff" {
		t.Fatalf("a fax: %v %q", err, seen)
	}
	tiff := seen[0].Data
	if !bytes.HasPrefix(tiff, []byte("II*\x00")) || !bytes.HasSuffix(tiff, []byte("fax")) {
		t.Errorf("the fax is %q", tiff)
	}
	tags := map[uint16]uint32{}
	for i := range int(binary.LittleEndian.Uint16(tiff[8:])) {
		entry := tiff[10+12*i:]
		tags[binary.LittleEndian.Uint16(entry)] = binary.LittleEndian.Uint32(entry[8:])
	}
	if tags[256] != 1000 || tags[257] != 500 || tags[259] != 4 || tags[279] != 3 || int(tags[273])+3 != len(tiff) {
		t.Errorf("the tags of the fax are %v", tags)
	}
}

func TestImagesThatCanNotBeRecognizedLeaveThePageEmpty(t *testing.T) {
	t.Parallel()
	const size = "/Width 1000/Height 500"
	for name, data := range map[string][]byte{
		"JPEG 2000":    imagePage(size+"/Filter/JPXDecode", []byte("jpx")),
		"JBIG2":        imagePage(size+"/Filter/JBIG2Decode", []byte("jbig2")),
		"a logo":       imagePage("/Width 50/Height 50/BitsPerComponent 8/ColorSpace/DeviceGray", make([]byte, 2500)),
		"too large":    imagePage("/Width 100000/Height 100000/BitsPerComponent 1/ColorSpace/DeviceGray", []byte("x")),
		"cut off":      imagePage(size+"/BitsPerComponent 8/ColorSpace/DeviceGray", []byte("x")),
		"nested":       imagePage(size+"/BitsPerComponent 8/ColorSpace[/I[/I/G 1 <00>]1 <00>]", make([]byte, 500_000)),
		"aligned fax":  imagePage(size+"/Filter/CCITTFaxDecode/DecodeParms<</EncodedByteAlign true>>", []byte("fax")),
		"negative":     imagePage("/Width -1000/Height -500/BitsPerComponent 8/ColorSpace/DeviceGray", []byte("x")),
		"sixteen bits": imagePage(size+"/BitsPerComponent 16/ColorSpace/DeviceGray", make([]byte, 1_000_000)),
	} {
		seen, _, err := recognized(t, data, "x", nil)
		if !errors.Is(err, pdf.ErrImages) || len(seen) != 0 {
			t.Errorf("%s: %v, %d images", name, err, len(seen))
		}
	}
	broken := errors.New("no engine")
	photo := imagePage(size+"/Filter/DCTDecode", []byte("photo"))
	if _, _, err := recognized(t, photo, "", broken); !errors.Is(err, pdf.ErrRecognize) || !errors.Is(err, broken) {
		t.Errorf("a failed recognition: %v", err)
	}
	if _, _, err := recognized(t, photo, " \n", nil); !errors.Is(err, pdf.ErrImages) {
		t.Errorf("an empty recognition: %v", err)
	}
	if seen, _, err := recognized(t, onePageOf(helvetica, hello), "x", nil); err != nil || len(seen) != 0 {
		t.Errorf("a page with text: %v, %d images", err, len(seen))
	}
}
