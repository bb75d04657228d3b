package format

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"mime"
	"path"
	"strconv"
	"strings"
	"unicode"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// attachment is a file in a mail message.
type attachment struct {
	name string
	data []byte
	// wrong is the reason why the file can't be read, or empty.
	wrong fault
}

// attachments collects the files of a message, with distinct names.
type attachments struct {
	list  []attachment
	names map[string]bool
	// parts counts the files and messages of an Outlook message and of those in it.
	parts int
}

// maxAttachmentName limits the name of an attachment in characters.
const maxAttachmentName = 100

// isAttached reports whether a part is a file and not the text of the message. Attached messages are read as a part of
// the text.
func isAttached(head func(string) string, kind string, params map[string]string) bool {
	switch {
	case strings.HasPrefix(kind, "multipart/") || kind == "message/rfc822" || kind == "message/global":
		return false
	case strings.HasPrefix(strings.ToLower(strings.TrimSpace(head("Content-Disposition"))), "attachment"):
		return true
	case kind == "text/plain" || kind == "text/html":
		return false
	}
	return attachmentName(head, kind, params) != ""
}

// attachmentName returns the name of an attached file without folders. A file without an extension has the extension
// of its media type.
func attachmentName(head func(string) string, kind string, params map[string]string) string {
	// A part without a valid disposition may have a name in its type.
	_, disposition, _ := mime.ParseMediaType(cut(head("Content-Disposition"), maxHeader))
	name := firstOf(disposition["filename"], params["name"])
	if decoded, err := words.DecodeHeader(name); err == nil {
		name = decoded
	}
	name = strings.ToValidUTF8(path.Base(strings.ReplaceAll(name, `\`, "/")), "")
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name)
	name = strings.Trim(name, " .")
	extension := path.Ext(name)
	if !readable(name) && (extension == "" || kind != "text/plain") { // programs send any file of text as text/plain
		if own, found := ExtensionOf(kind); found {
			name, extension = firstOf(name, "attachment")+own, own
		}
	}
	if runes := []rune(name); len(runes) > maxAttachmentName && len(extension) < maxAttachmentName/2 {
		name = strings.TrimSpace(string(runes[:maxAttachmentName-len(extension)])) + extension
	}
	return name
}

// isDecoration reports whether a part that can't be read is no file of its own: a picture in the text, or a signature.
func isDecoration(head func(string) string, kind string) bool {
	switch kind {
	case "application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature":
		return true
	}
	isFile := strings.HasPrefix(strings.ToLower(strings.TrimSpace(head("Content-Disposition"))), "attachment")
	return strings.HasPrefix(kind, "image/") && (!isFile || head("Content-Id") != "")
}

// add keeps a file, or the reason why it can't be read. Bytes before an error of its encoding are kept.
func (a *attachments) add(b *budget.Budget, name string, r io.Reader) {
	if runes := []rune(name); len(runes) > maxAttachmentName {
		a.refuse(string(runes[:maxAttachmentName]), "has too long an extension")
		return
	}
	if !readable(name) {
		a.refuse(name, unreadable(name))
		return
	}
	data, _ := b.ReadAll(r, maxMessage, 0)
	if len(data) == 0 {
		a.refuse(name, "is empty")
		return
	}
	a.list = append(a.list, attachment{name: a.unique(name), data: data})
}

// refuse keeps the reason why a file can't be read.
func (a *attachments) refuse(name string, reason fault) {
	a.list = append(a.list, attachment{name: a.unique(firstOf(name, "attachment")), wrong: reason})
}

// unique returns the name with a number if an earlier file has the same.
func (a *attachments) unique(name string) string {
	unique := name
	for n := 2; a.names[unique]; n++ {
		extension := path.Ext(name)
		unique = strings.TrimSuffix(name, extension) + " (" + strconv.Itoa(n) + ")" + extension
	}
	a.names[unique] = true
	return unique
}

// attachedFiles are attachments by name.
type attachedFiles map[string][]byte

// Open returns the content of an attachment.
func (f attachedFiles) Open(name string, _ *budget.Budget) (io.ReadCloser, error) {
	data, found := f[name]
	if !found {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// readAttachments yields the documents of attachments, whose names follow the id of the message as in a folder, and
// reports whether to continue. Attachments that can't be read are reported.
func readAttachments(
	b *budget.Budget, message string, list []attachment, yield func(source.Document, error) bool,
) bool {
	for _, a := range list {
		name := message + "/" + a.name
		more, err := file{name: name, size: int64(len(a.data)), wrong: a.wrong}.read(b, attachedFiles{name: a.data}, yield)
		if err != nil {
			return yield(source.Document{}, err)
		}
		if !more {
			return false
		}
	}
	return true
}

// SplitAttachment splits the id of a document that was read from an attachment of a mail file into the name of that
// file and of the attachment.
func SplitAttachment(id string) (message, name string, ok bool) {
	message, name = path.Split(id)
	message = strings.TrimSuffix(message, "/")
	f, _, known := formatOf(message)
	return message, name, known && f.attached != nil && name != ""
}

// OpenAttachment returns the content of an attachment of the mail file with the name message. It is fs.ErrNotExist if
// there is none with this name.
func OpenAttachment(
	ctx context.Context, message string, mail io.Reader, name string,
) (content io.ReadCloser, err error) {
	f, _, _ := formatOf(message)
	if f.attached == nil {
		return nil, fs.ErrNotExist
	}
	err = budget.Catch(func() error {
		b := budget.New(ctx, budget.Default, maxMessage, nil)
		data, err := b.ReadAll(mail, maxMessage, 0)
		if err != nil {
			return err
		}
		_, list, err := f.attached(b, "", data)
		if err != nil {
			return fs.ErrNotExist
		}
		for _, a := range list {
			if a.name == name && a.wrong == "" {
				content = io.NopCloser(bytes.NewReader(a.data))
				return nil
			}
		}
		return fs.ErrNotExist
	})
	return content, err
}
