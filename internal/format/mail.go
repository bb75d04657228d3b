package format

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html/charset"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

const (
	// maxMessage limits a message, including attachments.
	maxMessage = 32 << 20
	// Limits on the nesting and number of parts.
	maxMailDepth = 8
	maxMailParts = 200
	// maxHead limits the header section, because net/mail keeps all of it; maxHeader limits a parsed header.
	maxHead   = 1 << 20
	maxHeader = 64 << 10
)

const tooManyParts = fault("are not read, because the message has more than 200 parts")

// readMbox reads an mbox file, in which each message follows a line that begins with "From ".
func readMbox(b *budget.Budget, r io.Reader, tell func(), yield func(source.Document, error) bool) error {
	in := bufio.NewReaderSize(r, readBuffer)
	seen := make(idSet)
	var message bytes.Buffer
	n, started, tooLong := 0, false, false
	give := func() bool {
		if !started {
			return true
		}
		n++
		place := "message " + strconv.Itoa(n)
		var attached []attachment
		d, err := guarded(place, func() (source.Document, error) {
			if tooLong {
				return source.Document{}, fault("is larger than 32 MiB")
			}
			b.Work(workMessage)
			var d source.Document
			var err error
			d, attached, err = readMail(b, "", message.Bytes())
			d.ExternalID = firstOf(d.ExternalID, place)
			return d, err
		})
		if err == nil {
			if first, again := seen.add(d.ExternalID, n); again {
				d, err = source.Document{}, &RecordError{place, "repeats the id of message " + strconv.Itoa(first)}
			}
		}
		if message.Reset(); message.Cap() > keptLine {
			message = bytes.Buffer{}
		}
		tooLong = false
		more := yield(d, err)
		if err != nil || !more {
			return more
		}
		return readAttachments(b, d.ExternalID, attached, yield)
	}
	for atStart, blank := true, true; ; {
		if err := b.Err(); err != nil {
			return err
		}
		part, err := in.ReadSlice('\n')
		whole := err == nil
		tell()
		b.Work(workLine + len(part))
		switch {
		case atStart && blank && bytes.HasPrefix(part, []byte("From ")):
			if !give() {
				return nil
			}
			started = true
		case !started:
		case message.Len()+len(part) > maxMessage:
			tooLong = true
		default:
			message.Write(unquoteFrom(part, atStart))
		}
		blank = len(bytes.TrimSpace(part)) == 0 && atStart
		atStart = whole
		switch {
		case err == nil || errors.Is(err, bufio.ErrBufferFull):
		case !errors.Is(err, io.EOF):
			return err
		case !started:
			return &RecordError{"the file", "is not a mailbox: it holds no line that begins with From"}
		default:
			give()
			return nil
		}
	}
}

// unquoteFrom removes the ">" that protects lines which look like the start of a message.
func unquoteFrom(line []byte, atStart bool) []byte {
	if rest := bytes.TrimLeft(line, ">"); atStart && len(rest) < len(line) && bytes.HasPrefix(rest, []byte("From ")) {
		return line[1:]
	}
	return line
}

var words = mime.WordDecoder{CharsetReader: charsetReader}

func charsetReader(name string, in io.Reader) (io.Reader, error) {
	return charset.NewReaderLabel(name, in)
}

// parseMail reads one message without its attachments.
func parseMail(b *budget.Budget, name string, data []byte) (source.Document, error) {
	d, _, err := readMail(b, name, data)
	return d, err
}

// readMail reads one message: its plain text, or else its HTML, and its attachments.
func readMail(b *budget.Budget, name string, data []byte) (source.Document, []attachment, error) {
	b.Work(4 * len(data))
	data = cutEnvelope(data)
	length := headLength(data)
	if length > maxHead {
		return source.Document{}, nil, fault("has a head of more than 1 MiB")
	}
	m, err := readMessage(data, length)
	if err != nil {
		return source.Document{}, nil, fault("is not a mail message")
	}
	head := func(key string) string { return decodedHeader(m, key) }
	d := source.Document{
		ExternalID: strings.Trim(head("Message-Id"), "<>"), Title: oneLine(head("Subject")), Type: "email",
	}
	if len(d.ExternalID) > maxExternalID {
		d.ExternalID = ""
	}
	if at, err := mail.ParseDate(m.Header.Get("Date")); err == nil {
		if at = at.UTC(); at.Year() >= minYear && at.Year() <= maxYear {
			d.Year, d.PublishedAt = at.Year(), at.Format(time.RFC3339)
		}
	}
	parser := mail.AddressParser{WordDecoder: &words}
	if from, err := parser.ParseList(cut(m.Header.Get("From"), maxHeader)); err == nil {
		for _, a := range from {
			d.Authors = append(
				d.Authors, strings.ToValidUTF8(strings.ReplaceAll(firstOf(a.Name, a.Address), "\x00", ""), ""),
			)
		}
		d.Authors = cleanNames(d.Authors)
	}
	body := mailBody{b: b, attached: &attachments{names: map[string]bool{}}}
	body.read(m.Header.Get, m.Body, 0)
	d.Text = body.text()
	d.Title = firstOf(d.Title, titleLine(d.Text), stem(name))
	if body.parts > maxMailParts {
		body.attached.refuse("further parts", tooManyParts)
	}
	return d, body.attached.list, nil
}

// decodedHeader returns a header with its encoded words decoded. Raw bytes in another encoding than UTF-8 are decoded
// as well.
func decodedHeader(m *mail.Message, key string) string {
	raw := cut(m.Header.Get(key), maxHeader)
	s, err := words.DecodeHeader(raw)
	if err != nil {
		s = raw
	}
	if decoded, err := decodeValue(s); err == nil {
		s = decoded
	}
	return strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), ""))
}

// cutEnvelope removes empty lines and the "From " line of a mailbox before a message.
func cutEnvelope(data []byte) []byte {
	data = bytes.TrimLeft(bytes.TrimPrefix(data, utf8BOM), "\r\n")
	for bytes.HasPrefix(data, []byte("From ")) || bytes.HasPrefix(data, []byte(">From ")) {
		_, rest, found := bytes.Cut(data, []byte("\n"))
		if !found {
			break
		}
		data = rest
	}
	return data
}

// readMessage parses a message. If its head is malformed, lines that are no headers are left out, provided that it has
// a header of every mail.
func readMessage(data []byte, head int) (*mail.Message, error) {
	m, err := mail.ReadMessage(bytes.NewReader(data))
	if err == nil {
		return m, nil
	}
	var kept []byte
	open, known := false, false
	for line := range bytes.Lines(data[:head]) {
		name, _, pair := bytes.Cut(line, []byte(":"))
		switch {
		case line[0] == ' ' || line[0] == '\t':
			if !open {
				continue
			}
		case !pair || len(name) == 0 || bytes.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }):
			open = false
			continue
		default:
			open = true
			known = known || mailHeaders[strings.ToLower(string(name))]
		}
		kept = append(kept, line...)
	}
	if !known {
		return nil, err
	}
	if n := len(kept); n > 0 && kept[n-1] != '\n' {
		kept = append(kept, '\n')
	}
	body := bytes.TrimPrefix(bytes.TrimPrefix(data[head:], []byte("\r")), []byte("\n"))
	return mail.ReadMessage(io.MultiReader(bytes.NewReader(kept), strings.NewReader("\n"), bytes.NewReader(body)))
}

var mailHeaders = map[string]bool{
	"from": true, "to": true, "subject": true, "date": true, "received": true, "message-id": true,
}

// headLength returns the length of the header section, up to the first empty line.
func headLength(data []byte) int {
	for at := 0; at < len(data); {
		n := bytes.IndexByte(data[at:], '\n')
		if n < 0 {
			return len(data)
		}
		if len(bytes.TrimRight(data[at:at+n], "\r")) == 0 {
			return at
		}
		at += n + 1
	}
	return len(data)
}

// workLine is the cost of a line of an mbox file, workMessage of a message of any length, because net/mail allocates
// buffers for each.
const (
	workLine    = 20
	workMessage = 8000
)

// mailBody collects the text of a message.
type mailBody struct {
	b           *budget.Budget
	plain, page strings.Builder
	messages    strings.Builder
	parts       int
	attached    *attachments
}

// text returns the plain text, or else that of the HTML, and the messages in it.
func (b *mailBody) text() string {
	own := strings.TrimRight(firstOf(b.plain.String(), b.page.String()), "\n")
	return strings.TrimSpace(own + "\n" + b.messages.String())
}

// message reads a message in a message: its subject, its author and its text.
func (b *mailBody) message(r io.Reader, depth int) {
	data, _ := io.ReadAll(io.LimitReader(r, maxMessage)) // bytes before an error are kept
	data = cutEnvelope(data)
	length := headLength(data)
	if length > maxHead {
		return
	}
	m, err := readMessage(data, length)
	if err != nil {
		return
	}
	inner := mailBody{b: b.b, parts: b.parts, attached: b.attached}
	inner.read(m.Header.Get, m.Body, depth+1)
	b.parts = inner.parts
	text := "\n"
	for _, key := range []string{"Subject", "From", "Date"} {
		if value := oneLine(decodedHeader(m, key)); value != "" {
			text += key + ": " + value + "\n"
		}
	}
	text += "\n" + inner.text() + "\n"
	b.messages.WriteString(text)
}

// read reads a part of a message, or the whole message. head returns its headers.
func (b *mailBody) read(head func(key string) string, r io.Reader, depth int) {
	if b.parts++; b.parts > maxMailParts || depth > maxMailDepth || b.plain.Len() > maxText || b.page.Len() > maxText ||
		b.messages.Len() > maxText {
		return
	}
	kind, params, err := mime.ParseMediaType(cut(head("Content-Type"), maxHeader))
	if err != nil {
		kind = "text/plain" // RFC 2045, section 5.2
	}
	r = decodeTransfer(r, head("Content-Transfer-Encoding"))
	switch {
	case isAttached(head, kind, params):
		if name := attachmentName(head, kind, params); readable(name) || !isDecoration(head, kind) {
			b.attached.add(b.b, name, r)
		}
	case strings.HasPrefix(kind, "multipart/"):
		parts := multipart.NewReader(r, params["boundary"])
		for b.parts <= maxMailParts {
			b.b.Work(workRecord)
			p, err := parts.NextRawPart()
			if err != nil {
				return // the parts before an error are kept
			}
			if p.Header.Get("Content-Type") == "" && kind == "multipart/digest" {
				p.Header.Set("Content-Type", "message/rfc822") // RFC 2046, section 5.1.5
			}
			b.read(p.Header.Get, p, depth+1)
		}
	case kind == "message/rfc822" || kind == "message/global":
		b.b.Work(workMessage)
		b.message(r, depth)
	case kind == "text/plain":
		b.plain.WriteString(decodeCharset(r, params["charset"]))
		b.plain.WriteByte('\n')
	case kind == "text/html":
		b.page.WriteString(readPage(b.b, decodeCharset(r, params["charset"])).text.String())
		b.page.WriteByte('\n')
	}
}

func decodeTransfer(r io.Reader, encoding string) io.Reader {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, r)
	case "quoted-printable":
		return quotedprintable.NewReader(r)
	}
	return r
}

// decodeCharset decodes a part as far as possible.
func decodeCharset(r io.Reader, name string) string {
	if name != "" {
		if decoded, err := charsetReader(name, r); err == nil {
			r = decoded
		}
	}
	data, _ := io.ReadAll(io.LimitReader(r, maxText)) // bytes before an error are kept
	s := strings.ToValidUTF8(string(data), "")
	return strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "\r\n", "\n")
}
