package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// memory is what this process holds, in bytes; zeros where the system does not
// tell.
type memory struct {
	Resident int64 // now
	// Mapped is the part of Resident that is files in memory: the system takes it
	// back when others need it.
	Mapped int64
	Peak   int64 // the most there ever was
}

func ownMemory() memory {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return memory{}
	}
	return parseMemory(status)
}

// parseMemory reads the lines of /proc/PID/status that are about memory.
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
