package cli

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"carrel/internal/audit"
	"carrel/internal/core"
)

type auditCommands struct {
	List   auditList   `cmd:"" help:"List what happened to accounts and credentials, newest first."`
	Verify auditVerify `cmd:"" help:"Check that no entry was changed, removed or put in later."`
}

type auditList struct {
	User   string `aliases:"email" placeholder:"EMAIL" help:"Only what happened to this account."`
	Before int64  `placeholder:"SEQ" help:"Only entries before this one."`
	Limit  int    `default:"50" help:"How many at most. Default: 50."`
	JSON   bool   `help:"Print one JSON object: {\"entries\":[…]}."`
}

// Run lists entries.
func (c auditList) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		if c.Limit < 1 || c.Before < 0 {
			return core.InvalidField("/limit", "Must be 1 or more.")
		}
		userID := ""
		if c.User != "" {
			u, err := a.user(ctx, c.User)
			if err != nil {
				return err
			}
			userID = u.ID
		}
		entries, err := a.Audit.List(ctx, userID, c.Before, c.Limit)
		if err != nil {
			return err
		}
		if c.JSON {
			list := make([]map[string]any, len(entries))
			for i, e := range entries {
				list[i] = auditJSON(e)
			}
			return a.print(true, map[string]any{"entries": list}, "")
		}
		rows := make([][]string, len(entries))
		for i, e := range entries {
			rows[i] = []string{
				strconv.FormatInt(e.Seq, 10), date(e.At), string(e.Event), orDash(e.UserID), orDash(e.Actor), orDash(e.Address), e.Detail,
			}
		}
		return a.table("SEQ\tAT\tEVENT\tACCOUNT\tBY\tFROM\tDETAIL", rows)
	})
}

func auditJSON(e audit.Entry) map[string]any {
	return map[string]any{
		"seq": e.Seq, "at": date(e.At), "event": e.Event, "userId": e.UserID, "actor": e.Actor, "address": e.Address,
		"detail": json.RawMessage(e.Detail), "hash": hex.EncodeToString(e.Hash),
	}
}

type auditVerify struct {
	Noted string `placeholder:"SEQ:HASH" help:"An end that an earlier check printed and that you kept elsewhere; it must still be part of the log."`
	JSON  bool   `help:"Print one JSON object: {\"seq\":…,\"hash\":\"…\"}."`
}

// Run checks the log.
func (c auditVerify) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	noted, err := parseNoted(c.Noted)
	if err != nil {
		return err
	}
	return parent.run(ctx, env, false, func(a admin) error {
		end, err := a.Audit.Verify(ctx, noted)
		if err != nil {
			return err
		}
		hash := hex.EncodeToString(end.Hash)
		return a.print(c.JSON, map[string]any{"seq": end.Seq, "hash": hash},
			"The audit log is whole: %d entries.\nKeep this elsewhere and give it to the next check as --noted, so that a log that was written anew is found:\n%d:%s",
			end.Seq, end.Seq, hash)
	})
}

// parseNoted reads an end of the log as verify prints it; the empty text is none.
func parseNoted(s string) (*audit.Head, error) {
	if s == "" {
		return nil, nil //nolint:nilnil // there is none, and that is fine
	}
	seq, hash, _ := strings.Cut(s, ":")
	n, err := strconv.ParseInt(seq, 10, 64)
	sum, err2 := hex.DecodeString(hash)
	if err != nil || err2 != nil || n < 1 || len(sum) == 0 {
		return nil, core.InvalidField("/noted", "Must be a number, a colon and a hash, as an earlier check printed them.")
	}
	return &audit.Head{Seq: n, Hash: sum}, nil
}
