package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// memory is the memory of this process in bytes; 0 if unknown.
type memory struct {
	Resident int64 // now
	// Mapped is the part of Resident that is mapped files, which the system can reclaim.
	Mapped int64
	Peak   int64 // maximum so far
}

func ownMemory() memory {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return memory{}
	}
	return parseMemory(status)
}

// parseMemory parses the memory lines of /proc/PID/status.
func parseMemory(status []byte) memory {
	var m memory
	places := map[string]*int64{"VmRSS:": &m.Resident, "RssFile:": &m.Mapped, "VmHWM:": &m.Peak}
	for line := range bytes.Lines(status) {
		fields := strings.Fields(string(line))
		if len(fields) != 3 || fields[2] != "kB" || places[fields[0]] == nil {
			continue
		}
		if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			*places[fields[0]] = kib << 10
		}
	}
	return m
}
