package client

import (
	"bufio"
	"io"
	"strings"
)

// ServerEvent is one event of a stream of server-sent events.
type ServerEvent struct{ ID, Kind, Data string }

// maxEventLine limits the length of a line of a stream.
const maxEventLine = 16 << 20

// ReadEvents calls handle with every event of a stream until it returns false or the stream ends. Comments are skipped.
// Without an id line an event has no id, so that the caller keeps the last one.
func ReadEvents(r io.Reader, handle func(ServerEvent) bool) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxEventLine)
	var event ServerEvent
	for lines.Scan() {
		line := strings.TrimSuffix(lines.Text(), "\r")
		if line == "" {
			if event.Data != "" && !handle(event) {
				return nil
			}
			event = ServerEvent{}
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			event.ID = value
		case "event":
			event.Kind = value
		case "data":
			if event.Data != "" {
				event.Data += "\n"
			}
			event.Data += value
		}
	}
	return lines.Err()
}
