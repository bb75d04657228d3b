package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/mail"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// parseMSG reads one Outlook message without its attachments.
func parseMSG(b *budget.Budget, name string, data []byte) (source.Document, error) {
	d, _, err := readMSG(b, name, data)
	return d, err
}

// readMSG reads a message of Outlook ([MS-OXMSG]): its plain text, or else its HTML or RTF, and its attachments.
func readMSG(b *budget.Budget, name string, data []byte) (source.Document, []attachment, error) {
	f := openCompound(b, data)
	if f == nil {
		return source.Document{}, nil, fault("is not an Outlook message, or is damaged")
	}
	files := &attachments{names: map[string]bool{}}
	m := readOutlook(b, f.root(), msgRootHeader, files, 0)
	if !m.known {
		return source.Document{}, nil, fault("is not an Outlook message")
	}
	d := source.Document{Title: oneLine(m.subject), Type: "email", Text: m.text}
	if m.from != "" {
		d.Authors = cleanNames([]string{m.from})
	}
	if at := m.at; !at.IsZero() && at.Year() >= minYear && at.Year() <= maxYear {
		d.Year, d.PublishedAt = at.Year(), at.Format(time.RFC3339)
	}
	d.Title = firstOf(d.Title, titleLine(d.Text), stem(name))
	if files.parts > maxMailParts {
		files.refuse("further parts", tooManyParts)
	}
	return d, files.list, nil
}

// Properties of messages and attachments ([MS-OXPROPS]).
const (
	msgSubject, msgBody, msgHTML, msgRTF             = 0x0037, 0x1000, 0x1013, 0x1009
	msgHeaders                                       = 0x007d
	msgSender, msgSenderAddress, msgSenderSMTP       = 0x0c1a, 0x0c1f, 0x5d01
	msgRepresented, msgSubmitted, msgDelivered       = 0x0042, 0x0039, 0x0e06
	msgInternetCodePage, msgCodePage                 = 0x3fde, 0x3ffd
	msgFile, msgFileName, msgLongName, msgMediaType  = 0x3701, 0x3704, 0x3707, 0x370e
	msgContentID, msgContentLocation, msgHidden      = 0x3712, 0x3713, 0x7ffe
	msgRootHeader, msgInnerHeader, msgAttachedHeader = 32, 24, 8
)

// msgNode is a storage of a message or of an attachment.
type msgNode struct {
	streams map[string]cfbNode
	// fixed holds the properties of eight bytes by their number.
	fixed map[int][]byte
	// encoding is that of text that is not in UTF-16.
	encoding encoding.Encoding
}

// readNode lists the properties of a storage. header is the length of the head of its property stream.
func readNode(n cfbNode, header int) msgNode {
	m := msgNode{streams: map[string]cfbNode{}, fixed: map[int][]byte{}}
	for _, child := range n.children() {
		m.streams[strings.ToLower(child.name)] = child
	}
	list := m.streams["__properties_version1.0"].bytes()
	for list = list[min(header, len(list)):]; len(list) >= 16; list = list[16:] {
		n.f.b.Work(workToken)
		m.fixed[u16(list[2:])] = list[8:16]
	}
	return m
}

// findEncoding returns the encoding of the text of a message: the code page that the message names, or else the
// likeliest. The code page of its body is that of its other text only by chance.
func (m msgNode) findEncoding() encoding.Encoding {
	if page, ok := m.fixed[msgCodePage]; ok {
		return codePageOf(int(u32(page)))
	}
	sample := append(m.stream(msgSubject, "001e").bytes(), m.stream(msgBody, "001e").bytes()...)
	page := m.fixed[msgInternetCodePage]
	switch {
	case utf8.Valid(sample):
		return encoding.Nop
	case page != nil && u32(page) != codePageUTF8:
		return codePageOf(int(u32(page)))
	}
	if guess := guessEncoding(sample); guess != nil {
		return guess
	}
	return charmap.Windows1252
}

// codePageUTF8 is the code page of messages in UTF-8.
const codePageUTF8 = 65001

// bytes is content for an entry that may be missing.
func (n cfbNode) bytes() []byte {
	if n.f == nil {
		return nil
	}
	return n.content()
}

func (m msgNode) stream(id int, kind string) cfbNode {
	return m.streams[fmt.Sprintf("__substg1.0_%04x%s", id, kind)]
}

// text returns a property of text, which is in UTF-16 or in the code page of the message.
func (m msgNode) text(id int) string {
	if wide := m.stream(id, "001f").bytes(); len(wide) > 0 {
		return cleanMSG(decodeUTF16(wide, binary.LittleEndian))
	}
	return cleanMSG(decodeAs(m.encoding, m.stream(id, "001e").bytes()))
}

func decodeAs(e encoding.Encoding, data []byte) string {
	decoded, err := e.NewDecoder().Bytes(data)
	if err != nil {
		decoded = data
	}
	return string(decoded)
}

func cleanMSG(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")
	return strings.ReplaceAll(s, "\r\n", "\n")
}

// fileTimeEpoch is the number of seconds between 1601, the beginning of Windows time, and 1970.
const fileTimeEpoch = 11644473600

// at returns a property of a time, in units of 100 nanoseconds since 1601.
func (m msgNode) at(id int) time.Time {
	value, ok := m.fixed[id]
	if !ok {
		return time.Time{}
	}
	ticks := uint64(u32(value[4:]))<<32 | uint64(u32(value))
	if ticks == 0 {
		return time.Time{}
	}
	return time.Unix(int64(ticks/1e7)-fileTimeEpoch, 0).UTC()
}

// outlookMessage is the content of a message. known is set if it has any property of a message.
type outlookMessage struct {
	subject, from, text string
	at                  time.Time
	known               bool
}

// readOutlook reads the message in a storage and adds its attachments to files. Messages in the message become a part
// of its text.
func readOutlook(b *budget.Budget, n cfbNode, header int, files *attachments, depth int) outlookMessage {
	b.Work(workMessage)
	m := readNode(n, header)
	m.encoding = m.findEncoding()
	_, known := m.streams["__properties_version1.0"]
	out := outlookMessage{
		subject: m.text(msgSubject), known: known,
		from: firstOf(
			m.text(msgRepresented), m.text(msgSender), m.text(msgSenderSMTP), m.text(msgSenderAddress),
		),
	}
	for _, at := range []time.Time{m.at(msgSubmitted), m.headerDate(), m.at(msgDelivered)} {
		if out.at.IsZero() {
			out.at = at
		}
	}
	var text strings.Builder
	text.WriteString(m.body(b))
	for _, child := range n.children() {
		if !strings.HasPrefix(strings.ToLower(child.name), "__attach_version1.0_") || child.kind != cfbStorage {
			continue
		}
		if files.parts++; files.parts > maxMailParts {
			break
		}
		text.WriteString(readOutlookFile(b, child, m.encoding, files, depth))
	}
	out.text = strings.TrimSpace(cut(text.String(), maxText))
	return out
}

// headerDate returns the date of the headers of a message that was received from the internet.
func (m msgNode) headerDate() time.Time {
	headers := cut(m.text(msgHeaders), maxHead)
	parsed, err := mail.ReadMessage(strings.NewReader(strings.TrimLeft(headers, "\n") + "\n\n"))
	if err != nil {
		return time.Time{}
	}
	at, err := parsed.Header.Date()
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

// body returns the text of a message.
func (m msgNode) body(b *budget.Budget) string {
	if plain := m.text(msgBody); strings.TrimSpace(plain) != "" {
		return plain
	}
	page := m.text(msgHTML)
	if raw := m.stream(msgHTML, "0102").bytes(); len(raw) > 0 {
		own := m.encoding
		if number, ok := m.fixed[msgInternetCodePage]; ok {
			own = codePageOf(int(u32(number)))
		}
		page = decodeAs(own, raw)
		if declaredEncoding(raw) != "" {
			if decoded, err := decodePage(raw); err == nil {
				page = decoded
			}
		}
	}
	if page != "" {
		return cleanMSG(readPage(b, cleanMSG(page)).text.String())
	}
	rtf := unpackRTF(b, m.stream(msgRTF, "0102").bytes())
	if d, err := parseRTF(b, "", rtf); err == nil {
		return cleanMSG(d.Text)
	}
	return ""
}

// readOutlookFile adds an attachment to files, or returns the text of an attached message.
func readOutlookFile(b *budget.Budget, n cfbNode, e encoding.Encoding, files *attachments, depth int) string {
	m := readNode(n, msgAttachedHeader)
	m.encoding = e
	inner := m.stream(msgFile, "000d")
	if inner.kind == cfbStorage {
		if depth >= maxMailDepth {
			files.refuse("attached message", "is nested too deep")
			return ""
		}
		message := readOutlook(b, inner, msgInnerHeader, files, depth+1)
		if !message.known {
			files.refuse(fileName(m.text(msgLongName)), "is embedded in a format that is not supported")
			return ""
		}
		return message.quoted()
	}
	kind := strings.ToLower(m.text(msgMediaType))
	name := fileName(firstOf(m.text(msgLongName), m.text(msgFileName)))
	if own, found := ExtensionOf(kind); found && path.Ext(name) == "" {
		name = firstOf(name, "attachment") + own
	}
	hidden := len(m.fixed[msgHidden]) > 0 && m.fixed[msgHidden][0] != 0
	if isPicture(name, kind) && (hidden || m.text(msgContentID)+m.text(msgContentLocation) != "") {
		return ""
	}
	files.add(b, name, bytes.NewReader(m.stream(msgFile, "0102").bytes()))
	return ""
}

// isPicture reports whether an attachment is a picture by its media type or the ending of its name.
func isPicture(name, kind string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".bmp", ".emz", ".wmz", ".wmf", ".emf":
		return true
	}
	return strings.HasPrefix(kind, "image/")
}

// fileName returns the name of a file without folders and control characters.
func fileName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	return strings.Trim(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name), " .")
}

// quoted returns an attached message as a part of the text.
func (m outlookMessage) quoted() string {
	text := "\n\n"
	for _, line := range [][2]string{{"Subject", m.subject}, {"From", m.from}} {
		if value := oneLine(line[1]); value != "" {
			text += line[0] + ": " + value + "\n"
		}
	}
	if !m.at.IsZero() {
		text += "Date: " + m.at.Format(time.RFC1123Z) + "\n"
	}
	return text + "\n" + m.text + "\n"
}

// rtfDictionary is the text that compressed RTF may refer to before its own ([MS-OXRTFCP], section 2.1.2.1).
const rtfDictionary = `{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript ` +
	`\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0` + "\r\n" +
	`\par \pard\plain\f0\fs20\b\i\u\tab\tx`

// unpackRTF unpacks compressed RTF ([MS-OXRTFCP]), as far as it is sound.
func unpackRTF(b *budget.Budget, data []byte) []byte {
	const head = 16
	if len(data) < head {
		return nil
	}
	length := min(int(u32(data[4:])), maxFile)
	body := data[head:]
	switch string(data[8:12]) {
	case "MELA":
		return body[:min(len(body), length)]
	case "LZFu":
	default:
		return nil
	}
	const window = 4096
	var ring [window]byte
	at := copy(ring[:], rtfDictionary)
	var out []byte
	put := func(c byte) {
		ring[at] = c
		at = (at + 1) % window
		out = append(out, c)
	}
	for len(body) > 0 && len(out) < length {
		control := body[0]
		body = body[1:]
		before := len(out)
		for bit := range 8 {
			if control>>bit&1 == 0 {
				if len(body) == 0 {
					break
				}
				put(body[0])
				body = body[1:]
				continue
			}
			if len(body) < 2 {
				body = nil
				break
			}
			reference := int(body[0])<<8 | int(body[1])
			body = body[2:]
			from := reference >> 4
			if from == at {
				body = nil // the end
				break
			}
			for i := range reference&15 + 2 {
				put(ring[(from+i)%window])
			}
		}
		b.Work(workToken + len(out) - before)
		b.Hold(len(out) - before)
	}
	return out
}
