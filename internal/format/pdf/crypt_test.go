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
