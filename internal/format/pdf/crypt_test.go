package pdf

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"carrel/internal/format/budget"
)

const secretProgram = "BT /F 12 Tf 50 700 Td (A protected text) Tj ET"

// protect builds a file whose content stream is encrypted with the empty user password. The encryption dictionary has
// the given version and revision; with AES the stream starts with a random initialization vector.
func protect(version, revision, length int, useAES bool) []byte {
	owner, id := bytes.Repeat([]byte{7}, 32), []byte("0123456789abcdef")
	key := key128(owner, id, -4, revision, length, false)
	user := rc4With(key, padding)
	if revision >= 3 {
		h := md5.New()
		h.Write(padding)
		h.Write(id)
		user = h.Sum(nil)
		for i := range 20 {
			k := bytes.Clone(key)
			for j := range k {
				k[j] ^= byte(i)
			}
			user = rc4With(k, user)
		}
		user = append(user, make([]byte, 16)...)
	}
	// The key of object 4, generation 0 (algorithm 1).
	salted := append(bytes.Clone(key), 4, 0, 0, 0, 0)
	if useAES {
		salted = append(salted, "sAlT"...)
	}
	sum := md5.Sum(salted)
	objectKey := sum[:min(16, length+5)]
	data := []byte(secretProgram)
	if useAES {
		pad := 16 - len(data)%16
		data = append(data, bytes.Repeat([]byte{byte(pad)}, pad)...)
		vector := bytes.Repeat([]byte{9}, 16)
		block, err := aes.NewCipher(objectKey)
		if err != nil {
			panic(err)
		}
		cipher.NewCBCEncrypter(block, vector).CryptBlocks(data, data)
		data = append(vector, data...)
	} else {
		data = rc4With(objectKey, data)
	}
	filter := ""
	if version == 4 {
		filter = "/CF<</StdCF<</CFM/AESV2/Length 16>>>>/StmF/StdCF/StrF/StdCF"
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.6\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n" +
		"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" +
		"3 0 obj<</Type/Page/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj\n")
	fmt.Fprintf(&b, "4 0 obj<</Length %d>>stream\n%s\nendstream endobj\n", len(data), data)
	b.WriteString("5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n")
	fmt.Fprintf(&b, "trailer<</Root 1 0 R/ID[<%x><%x>]/Encrypt<</Filter/Standard", id, id)
	fmt.Fprintf(&b, "/V %d/R %d/Length %d/P -4%s/O<%x>/U<%x>>>>>\n%%%%EOF",
		version, revision, 8*length, filter, owner, user)
	return b.Bytes()
}

func read(t *testing.T, data []byte) (string, error) {
	t.Helper()
	text, err := Extract(data, budget.New(context.Background(), budget.Default, int64(len(data)), nil), DefaultLimits)
	return text.String(), err
}

// Many publishers encrypt with an empty user password, which restricts printing but not reading.
func TestFilesEncryptedWithTheEmptyPasswordAreRead(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{
		"RC4, 40 bits":  protect(1, 2, 5, false),
		"RC4, 128 bits": protect(2, 3, 16, false),
		"AES, 128 bits": protect(4, 4, 16, true),
	} {
		if got, err := read(t, data); err != nil || got != "A protected text" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestFilesThatNeedAPasswordAreRefused(t *testing.T) {
	t.Parallel()
	whole := protect(2, 3, 16, false)
	for name, data := range map[string][]byte{
		"another password":    bytes.Replace(whole, []byte("/P -4"), []byte("/P -8"), 1), // the key depends on it
		"an unknown handler":  bytes.Replace(whole, []byte("/Filter/Standard"), []byte("/Filter/Adobe.PS"), 1),
		"an unknown version":  bytes.Replace(whole, []byte("/V 2"), []byte("/V 9"), 1),
		"a key that is short": bytes.Replace(whole, []byte("/Length 128"), []byte("/Length 008"), 1),
	} {
		if got, err := read(t, data); !errors.Is(err, ErrEncrypted) {
			t.Errorf("%s: %q, %v, want ErrEncrypted", name, got, err)
		}
	}
}

func TestPermissionsArePartOfTheKey(t *testing.T) {
	t.Parallel()
	owner, id := bytes.Repeat([]byte{1}, 32), binary.BigEndian.AppendUint64(nil, 7)
	if bytes.Equal(key128(owner, id, -4, 3, 16, false), key128(owner, id, -44, 3, 16, false)) {
		t.Error("two sets of permissions have one key")
	}
}

func TestUnsignedPermissionsAreTheSameBits(t *testing.T) {
	t.Parallel()
	data := bytes.Replace(protect(2, 3, 16, false), []byte("/P -4"), []byte("/P 4294967292"), 1)
	if got, err := read(t, data); err != nil || got != "A protected text" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestStringsAndStreamsWithoutACryptFilterAreNotDecrypted(t *testing.T) {
	t.Parallel()
	data := bytes.Replace(protect(4, 4, 16, true), []byte("/StmF/StdCF"), []byte("/StmF/Identity"), 1)
	start := bytes.Index(data, []byte("stream\n")) + len("stream\n")
	end := bytes.Index(data, []byte("\nendstream"))
	plain := append([]byte(secretProgram), bytes.Repeat([]byte(" "), end-start-len(secretProgram))...)
	copy(data[start:end], plain)
	if got, err := read(t, data); err != nil || got != "A protected text" {
		t.Errorf("%q, %v", got, err)
	}
}

// lockedCatalog builds a file whose catalogue, pages and font are in an encrypted object stream.
func lockedCatalog() []byte {
	owner, id := bytes.Repeat([]byte{7}, 32), []byte("0123456789abcdef")
	key := key128(owner, id, -4, 2, 5, false)
	lock := func(num int, text string) []byte {
		sum := md5.Sum(append(bytes.Clone(key), byte(num), 0, 0, 0, 0))
		return rc4With(sum[:10], []byte(text))
	}
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
	}
	var heads, bodies string
	for i, num := range []int{1, 2, 3, 5} {
		heads += fmt.Sprintf("%d %d ", num, len(bodies))
		bodies += objects[i] + " "
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.6\n")
	at := map[int]int{}
	put := func(num int, dict, data string) {
		at[num] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj<<%s/Length %d>>stream\n%s\nendstream endobj\n", num, dict, len(data), data)
	}
	put(4, "", string(lock(4, secretProgram)))
	put(6, fmt.Sprintf("/Type/ObjStm/N 4/First %d", len(heads)), string(lock(6, heads+bodies)))
	at[8] = b.Len()
	fmt.Fprintf(&b, "8 0 obj<</Filter/Standard/V 1/R 2/P -4/O<%x>/U<%x>>>endobj\n", owner, rc4With(key, padding))
	at[7] = b.Len()
	var rows []byte
	for num := range 9 {
		switch num {
		case 0:
			rows = append(rows, 0, 0, 0)
		case 1, 2, 3, 5:
			rows = append(rows, 2, 0, 6)
		default:
			rows = append(rows, 1, byte(at[num]>>8), byte(at[num]))
		}
	}
	put(7, fmt.Sprintf("/Type/XRef/Size 9/W[1 2 0]/Root 1 0 R/Encrypt 8 0 R/ID[<%x><%x>]", id, id), string(rows))
	fmt.Fprintf(&b, "startxref\n%d\n%%%%EOF", at[7])
	return b.Bytes()
}

func TestACatalogInAnEncryptedObjectStreamIsRead(t *testing.T) {
	t.Parallel()
	whole := lockedCatalog()
	for name, data := range map[string][]byte{
		"with its table":    whole,
		"without its table": bytes.Replace(whole, []byte("startxref"), []byte("startfoo1"), 1),
	} {
		if got, err := read(t, data); err != nil || got != "A protected text" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
