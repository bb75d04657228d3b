package pdf

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5" //nolint:gosec // the format prescribes it
	"crypto/rc4" //nolint:gosec // the format prescribes it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
)

// crypt decrypts a file that opens with an empty user password. Many publishers encrypt that way to restrict printing
// and copying (ISO 32000-1, section 7.6; ISO 32000-2, section 7.6.4 for AES-256).
type crypt struct {
	key []byte
	aes bool
	// clearStreams and clearStrings mean that streams or strings are not encrypted.
	clearStreams, clearStrings bool
	// whole means that the file key is used directly instead of a key per object.
	whole bool
	// clearMetadata means that metadata streams are not encrypted.
	clearMetadata bool
}

// padding completes passwords to 32 bytes; it is all of an empty password (ISO 32000-1, section 7.6.3.3).
var padding = []byte(
	"\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08" +
		"\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A",
)

func (f *file) newCrypt() (*crypt, error) {
	e := f.dictOf(f.trailer["Encrypt"])
	if f.nameOf(e["Filter"]) != "Standard" {
		return nil, ErrEncrypted
	}
	text := func(key name) []byte { s, _ := f.resolve(e[key]).(str); return []byte(s) }
	version, revision := asInt(f.resolve(e["V"])), asInt(f.resolve(e["R"]))
	c := &crypt{clearMetadata: version >= 4 && f.resolve(e["EncryptMetadata"]) == false}
	length := 5
	switch version {
	case 1:
	case 2:
		if n := asInt(f.resolve(e["Length"])); n != 0 {
			length = n / 8
		}
	case 4, 5:
		length = 16
		if !f.readCryptFilters(c, e) {
			return nil, ErrEncrypted
		}
	default:
		return nil, ErrEncrypted
	}
	if version == 5 {
		c.whole = true
		c.key = key256(text("U"), text("UE"), revision)
		if c.key == nil {
			return nil, ErrEncrypted
		}
		return c, nil
	}
	if length < 5 || length > 16 {
		return nil, ErrEncrypted
	}
	var id []byte
	if ids := f.arrayOf(f.trailer["ID"]); len(ids) > 0 {
		s, _ := f.resolve(ids[0]).(str)
		id = []byte(s)
	}
	c.key = key128(text("O"), id, permissions(f.numberOf(e["P"])), revision, length, c.clearMetadata)
	if !opensWith(c.key, text("U"), id, revision) {
		return nil, ErrEncrypted
	}
	return c, nil
}

// permissions returns the 32 bits of /P, which some programs write as an unsigned number.
func permissions(p float64) int32 { return int32(uint32(int64(p))) }

// readCryptFilters reads the methods for streams and strings (ISO 32000-1, section 7.6.5). It reports whether they are
// known.
func (f *file) readCryptFilters(c *crypt, e dict) bool {
	method := func(key name) name {
		which := f.nameOf(e[key])
		if which == "" || which == "Identity" {
			return "None"
		}
		return f.nameOf(f.dictOf(f.dictOf(e["CF"])[which])["CFM"])
	}
	streams, strings := method("StmF"), method("StrF")
	if e["StrF"] == nil {
		strings = streams
	}
	c.clearStreams, c.clearStrings = streams == "None", strings == "None"
	if c.clearStreams {
		streams = strings
	}
	c.aes = streams == "AESV2" || streams == "AESV3"
	return c.aes || streams == "V2" || streams == "None"
}

// key128 derives the file key from an empty password (algorithm 2).
func key128(owner, id []byte, permissions int32, revision, length int, clearMetadata bool) []byte {
	h := md5.New() //nolint:gosec // see above
	h.Write(padding)
	h.Write(owner[:min(32, len(owner))])
	_ = binary.Write(h, binary.LittleEndian, permissions) // a hash does not fail
	h.Write(id)
	if revision >= 4 && clearMetadata {
		h.Write([]byte{0xff, 0xff, 0xff, 0xff})
	}
	key := h.Sum(nil)
	if revision >= 3 {
		for range 50 {
			sum := md5.Sum(key[:length]) //nolint:gosec // see above
			key = sum[:]
		}
	}
	return key[:length]
}

// opensWith verifies the file key (algorithms 4 and 5).
func opensWith(key, user, id []byte, revision int) bool {
	if revision < 3 {
		return bytes.Equal(rc4With(key, padding), user)
	}
	h := md5.New() //nolint:gosec // see above
	h.Write(padding)
	h.Write(id)
	check := h.Sum(nil)
	for i := range 20 {
		k := bytes.Clone(key)
		for j := range k {
			k[j] ^= byte(i)
		}
		check = rc4With(k, check)
	}
	return len(user) >= 16 && bytes.Equal(check, user[:16])
}

func rc4With(key, data []byte) []byte {
	c, err := rc4.NewCipher(key) //nolint:gosec // see above
	if err != nil {
		return nil
	}
	out := make([]byte, len(data))
	c.XORKeyStream(out, data)
	return out
}

// key256 derives the AES-256 file key from an empty password (algorithm 2.A).
func key256(user, sealed []byte, revision int) []byte {
	if len(user) < 48 || len(sealed) < 32 {
		return nil
	}
	validation, salt := user[32:40], user[40:48]
	if !bytes.Equal(hash256(validation, revision), user[:32]) {
		return nil
	}
	block, err := aes.NewCipher(hash256(salt, revision))
	if err != nil {
		return nil
	}
	key := make([]byte, 32)
	cipher.NewCBCDecrypter(block, make([]byte, aes.BlockSize)).CryptBlocks(key, sealed[:32])
	return key
}

// hash256 hashes an empty password with a salt (algorithm 2.B).
func hash256(salt []byte, revision int) []byte {
	sum := sha256.Sum256(salt)
	k := sum[:]
	if revision < 6 {
		return k
	}
	for round, last := 0, byte(0); round < 64 || int(last) > round-32; round++ {
		block, err := aes.NewCipher(k[:16])
		if err != nil {
			return nil
		}
		e := bytes.Repeat(k, 64)
		cipher.NewCBCEncrypter(block, k[16:32]).CryptBlocks(e, e)
		mod := 0
		for _, c := range e[:16] {
			mod += int(c)
		}
		switch mod % 3 {
		case 0:
			s := sha256.Sum256(e)
			k = s[:]
		case 1:
			s := sha512.Sum384(e)
			k = s[:]
		default:
			s := sha512.Sum512(e)
			k = s[:]
		}
		last = e[len(e)-1]
	}
	return k[:32]
}

// covers reports whether streams of a type are encrypted.
func (c *crypt) covers(kind name) bool {
	return !c.clearStreams && kind != "XRef" && (kind != "Metadata" || !c.clearMetadata)
}

// decrypt decrypts a string or stream of an object.
func (c *crypt) decrypt(data []byte, of ref) []byte {
	key := c.key
	if !c.whole {
		h := md5.New() //nolint:gosec // see above
		h.Write(key)
		h.Write([]byte{byte(of.num), byte(of.num >> 8), byte(of.num >> 16), byte(of.gen), byte(of.gen >> 8)})
		if c.aes {
			h.Write([]byte("sAlT"))
		}
		key = h.Sum(nil)[:min(len(key)+5, 16)]
	}
	if !c.aes {
		return rc4With(key, data)
	}
	block, err := aes.NewCipher(key)
	if err != nil || len(data) < 2*aes.BlockSize {
		return nil
	}
	iv, body := data[:aes.BlockSize], data[aes.BlockSize:]
	out := make([]byte, len(body)/aes.BlockSize*aes.BlockSize)
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(out, body[:len(out)])
	if pad := int(out[len(out)-1]); pad >= 1 && pad <= aes.BlockSize {
		out = out[:len(out)-pad]
	}
	return out
}

// decryptStrings decrypts the strings of an object. Objects in object streams are not encrypted on their own.
func (f *file) decryptStrings(x any, of ref, depth int) any {
	if f.crypt == nil || f.crypt.clearStrings || depth > maxNesting {
		return x
	}
	switch x := x.(type) {
	case str:
		return str(f.crypt.decrypt([]byte(x), of))
	case array:
		for i := range x {
			x[i] = f.decryptStrings(x[i], of, depth+1)
		}
	case dict:
		for k := range x {
			x[k] = f.decryptStrings(x[k], of, depth+1)
		}
	}
	return x
}
