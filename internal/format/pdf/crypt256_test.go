package pdf

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
)

// seal256 encrypts with AES-256 in CBC mode and a fixed initialization vector, as streams and strings are.
func seal256(key []byte, text string) []byte {
	data := []byte(text)
	pad := aes.BlockSize - len(data)%aes.BlockSize
	data = append(data, bytes.Repeat([]byte{byte(pad)}, pad)...)
	vector := bytes.Repeat([]byte{3}, aes.BlockSize)
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	cipher.NewCBCEncrypter(block, vector).CryptBlocks(data, data)
	return append(vector, data...)
}

// protect256 builds a file encrypted with AES-256 and an empty user password. The title is an encrypted string, the
// metadata stream is in clear text.
func protect256(revision int, extra string) []byte {
	key := bytes.Repeat([]byte{0x42}, 32)
	validation, salt := []byte("validate"), []byte("key salt")
	user := append(append(hash256(validation, revision), validation...), salt...)
	block, err := aes.NewCipher(hash256(salt, revision))
	if err != nil {
		panic(err)
	}
	sealed := make([]byte, 32)
	cipher.NewCBCEncrypter(block, make([]byte, aes.BlockSize)).CryptBlocks(sealed, key)
	body := seal256(key, secretProgram)
	const packet = "<prism:doi>10.1000/182</prism:doi>"
	var b bytes.Buffer
	b.WriteString("%PDF-2.0\n1 0 obj<</Type/Catalog/Pages 2 0 R/Metadata 7 0 R>>endobj\n" +
		"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" +
		"3 0 obj<</Type/Page/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj\n")
	fmt.Fprintf(&b, "4 0 obj<</Length %d>>stream\n%s\nendstream endobj\n", len(body), body)
	b.WriteString("5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n")
	fmt.Fprintf(&b, "6 0 obj<</Title<%x>/Kept[<%x>]>>endobj\n", seal256(key, "A secret title"), seal256(key, "x"))
	fmt.Fprintf(&b, "7 0 obj<</Type/Metadata/Length %d>>stream\n%s\nendstream endobj\n", len(packet), packet)
	fmt.Fprintf(&b, "trailer<</Root 1 0 R/Info 6 0 R/Encrypt<</Filter/Standard/V 5/R %d/P -4%s", revision, extra)
	fmt.Fprintf(&b, "/CF<</StdCF<</CFM/AESV3>>>>/StmF/StdCF/U<%x>/UE<%x>>>>>\n%%%%EOF", user, sealed)
	return b.Bytes()
}

func TestFilesEncryptedWithAES256AreRead(t *testing.T) {
	t.Parallel()
	for _, revision := range []int{5, 6} {
		text, err := Extract(protect256(revision, ""), unlimited(t), DefaultLimits)
		if err != nil || text.String() != "A protected text" || text.Title != "A secret title" {
			t.Errorf("revision %d: %q, title %q, %v", revision, text.String(), text.Title, err)
		}
	}
}

func TestAES256FilesWithAPasswordAreRefused(t *testing.T) {
	t.Parallel()
	whole := protect256(6, "")
	for name, data := range map[string][]byte{
		"another hash":      bytes.Replace(whole, []byte("/R 6"), []byte("/R 5"), 1),
		"no user entry":     bytes.Replace(whole, []byte("/U<"), []byte("/X<"), 1),
		"no key":            bytes.Replace(whole, []byte("/UE<"), []byte("/XE<"), 1),
		"an unknown cipher": bytes.Replace(whole, []byte("AESV3"), []byte("AESV9"), 1),
	} {
		if got, err := read(t, data); !errors.Is(err, ErrEncrypted) {
			t.Errorf("%s: %q, %v, want ErrEncrypted", name, got, err)
		}
	}
}

// EncryptMetadata says whether the metadata stream is encrypted like the others (ISO 32000-1, table 21).
func TestClearMetadataIsNotDecrypted(t *testing.T) {
	t.Parallel()
	text, err := Extract(protect256(6, "/EncryptMetadata false"), unlimited(t), DefaultLimits)
	if err != nil || text.DOI != "10.1000/182" {
		t.Errorf("DOI %q, %v", text.DOI, err)
	}
	text, err = Extract(protect256(6, ""), unlimited(t), DefaultLimits)
	if err != nil || text.DOI != "" {
		t.Errorf("encrypted metadata: DOI %q, %v", text.DOI, err)
	}
}

// Cut or misaligned ciphertext is dropped or shortened; it must not panic.
func TestDamagedCiphertext(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{0x42}, 32)
	c := &crypt{key: key, aes: true, whole: true}
	whole := seal256(key, "sixteen bytes ab and more")
	for size, want := range map[int]string{
		0: "", 1: "", 16: "", 31: "", 32: "sixteen bytes ab", 33: "sixteen bytes ab",
		48: "sixteen bytes ab and more",
	} {
		if got := c.decrypt(whole[:size], ref{1, 0}); string(got) != want {
			t.Errorf("%d bytes: got %q, want %q", size, got, want)
		}
	}
	if got := (&crypt{key: []byte("short")}).decrypt(nil, ref{}); len(got) != 0 {
		t.Errorf("an empty string is decrypted to %q", got)
	}
}

// Algorithm 2 of ISO 32000-1: the inputs of the hash, and the repetition of revision 3.
func TestFileKeyDependsOnEveryInput(t *testing.T) {
	t.Parallel()
	owner, id := bytes.Repeat([]byte{1}, 32), []byte("0123456789abcdef")
	base := key128(owner, id, -4, 3, 16, false)
	for name, other := range map[string][]byte{
		"owner":    key128(bytes.Repeat([]byte{2}, 32), id, -4, 3, 16, false),
		"id":       key128(owner, []byte("other"), -4, 3, 16, false),
		"revision": key128(owner, id, -4, 2, 16, false),
		"metadata": key128(owner, id, -4, 4, 16, true),
	} {
		if bytes.Equal(base, other) {
			t.Errorf("%s: the key is the same, %s", name, hex.EncodeToString(base))
		}
	}
	if !bytes.Equal(base, key128(owner, id, -4, 3, 16, true)) {
		t.Error("EncryptMetadata changes a key of revision 3")
	}
	if got := len(key128(owner, id, -4, 3, 5, false)); got != 5 {
		t.Errorf("a key of 40 bits has %d bytes", got)
	}
}
