//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/model"
	"github.com/whippletree-app/whippletree/backend/store"
)

// searchBytes is how much text the searched database holds.
func (l *Lab) searchBytes() int64 {
	if l.Full {
		return 1000 << 20
	}
	return 64 << 20
}

// searched are the kinds of text that are looked for. Each is put at a few places
// of the corpus, or is one of its words.
var searched = []struct {
	name, text string
	ms         float64
}{
	{"a frequent word", "context", 100},
	{"an identifier of 26", "handleSubagentReplyTimeout", 100},
	{"inside an identifier", "SubagentReply", 100},
	{"inside a Russian word", "Обработ", 20},
	{"inside a Chinese run", "连接池", 20},
	{"two words", "timeout соединений", 100},
	{"a word that is nowhere", "zzqxwv", 100},
	{"two Chinese characters", "刷新", 100}, // without the index: one page of looking
}

// measureSearch: how long a search takes to its first page in a database of 1 GB
// of text (scaled by default), how large the index is, and what a writer waits
// for while the index is built.
func measureSearch(l *Lab) []Figure {
	size := l.searchBytes()
	about := fmt.Sprintf("search, %d MB of text", size>>20)
	fail := func(err error) []Figure { return []Figure{{What: about, Unit: "ms", Err: err}} }
	dir, err := l.searchCorpus(size)
	if err != nil {
		return fail(err)
	}
	ctx := context.Background()
	var list []Figure
	began := time.Now()
	s, err := store.OpenWith(dir, store.Options{Ballast: -1})
	if err != nil {
		return fail(err)
	}
	defer s.Close()
	if _, err := s.Tail(ctx, "chat-0", 50); err != nil {
		return fail(err)
	}
	list = append(list, Figure{What: about + ": open to the first row", Unit: "ms", Ours: []float64{ms(time.Since(began))}, Target: atMost(10, "ms")})
	for _, q := range searched {
		f := Figure{What: about + ": " + q.name, Unit: "ms", Target: atMost(q.ms, "ms")}
		for n := range l.Runs + 1 {
			began := time.Now()
			got, err := s.Search(ctx, store.Search{Text: q.text})
			took := time.Since(began)
			if err != nil {
				f.Err = err
				break
			}
			if n > 0 { // the first one warms the pages
				f.Ours = append(f.Ours, ms(took))
			} else if f.Note = fmt.Sprintf("%d hits, cold %.1f ms", len(got.Hits), ms(took)); q.name == "a word that is nowhere" && len(got.Hits) > 0 {
				f.Err = fmt.Errorf("%d hits of a word that is nowhere", len(got.Hits))
			}
		}
		list = append(list, f)
	}
	ratio := Figure{What: about + ": index beside the text", Unit: "x", Target: atMost(1, "x")}
	if n, err := s.IndexSize(ctx); err != nil {
		ratio.Err = err
	} else {
		ratio.Ours = []float64{float64(n) / float64(size)}
	}
	list = append(list, ratio)
	return append(list, l.measureIndexing())
}

// measureIndexing: the worst hundredth of writes while an index is being built.
func (l *Lab) measureIndexing() Figure {
	f := Figure{What: "a row stored while 8 MB are indexed, p99", Unit: "ms", Target: atMost(100, "ms"), Note: "each write waits for the disk (FULL)"}
	home, err := l.Home()
	if err == nil {
		err = fillSearch(home, 8<<20, l.Seed, false)
	}
	if err != nil {
		f.Err = err
		return f
	}
	s, err := store.OpenWith(home, store.Options{Ballast: -1})
	if err != nil {
		f.Err = err
		return f
	}
	defer s.Close()
	ctx := context.Background()
	// The store's own worker indexes; the writes come as from a busy chat.
	var took []float64
	for n := 0; ; n++ {
		if n%20 == 0 {
			left, err := s.Unindexed(ctx)
			if err != nil {
				f.Err = err
				return f
			}
			if left == 0 {
				f.Ours = []float64{quantile(took, 0.99)}
				f.Note += fmt.Sprintf("; %d writes, median %.1f ms", len(took), median(took))
				return f
			}
		}
		began := time.Now()
		row := model.Row{Item: agent.Item{ID: fmt.Sprint("while-", n), Type: agent.ItemText, Text: "while it is indexed"}, Provisional: true}
		if err := s.PutRows(ctx, "chat-0", row); err != nil {
			f.Err = err
			return f
		}
		took = append(took, ms(time.Since(began)))
		time.Sleep(5 * time.Millisecond)
	}
}

// searchCorpus makes the database once and keeps it; it is not written to.
func (l *Lab) searchCorpus(size int64) (string, error) {
	dir := filepath.Join(l.cache, fmt.Sprintf("search-%d-%d-%d", l.Seed, size, store.Format()))
	if _, err := os.Stat(filepath.Join(dir, ".complete")); err == nil {
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	fmt.Fprintf(os.Stderr, "bench: making a database with %d MB of text, once\n", size>>20)
	if err := fillSearch(dir, size, l.Seed, true); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, ".complete"), nil, 0o600)
}

// fillSearch writes chats of 5000 rows: 60 % lines of code and prose, 15 % Russian,
// 12 % Chinese, 13 % JSON of tools with long ids, as the measurements of the
// reference did.
func fillSearch(dir string, size int64, seed uint64, index bool) error {
	s, err := store.OpenWith(dir, store.Options{Ballast: -1})
	if err != nil {
		return err
	}
	defer s.Close()
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(seed, 11))
	var written int64
	for n := 0; written < size; n++ {
		id := fmt.Sprint("chat-", n)
		if err := s.PutChat(ctx, store.ChatRecord{ID: id, Title: fmt.Sprint("Chat ", n), Harness: "claude-code", Cwd: "/work"}); err != nil {
			return err
		}
		for part := 0; part < 10 && written < size; part++ {
			if err := s.Do(ctx, func(tx *store.Tx) error {
				for i := range 500 {
					it := said(rng)
					it.ID = fmt.Sprintf("%d-%d", part, i)
					if _, err := tx.PutRow(id, model.Row{Item: it, Turn: int64(part + 1)}); err != nil {
						return err
					}
					written += int64(len(it.Text) + len(it.Output))
				}
				return nil
			}); err != nil {
				return err
			}
		}
	}
	if !index {
		return nil
	}
	return s.Indexed(ctx)
}

var (
	codeWords    = strings.Fields("func return error context request client server handle close open read write buffer queue turn session agent model reply deadline if err != nil range string int64 byte struct interface package import the which that before after every while must never")
	russianWords = strings.Fields("обработчик соединений должен вернуть ошибку после закрытия очереди сообщений иначе процесс остаётся висеть и проверка повторяется каждую секунду пока сервер отвечает")
	chineseRuns  = []string{"请把连接池的大小改成二十", "这个函数在关闭之后仍然返回错误", "需要在测试里检查超时", "会话结束以后队列应当清空", "刷新令牌失败时重试三次"}
)

// said makes one item; rare words are put in one of 20,000.
func said(rng *rand.Rand) agent.Item {
	var b strings.Builder
	many := func(words []string, n int) {
		for range n {
			b.WriteString(words[rng.IntN(len(words))])
			b.WriteByte(' ')
		}
	}
	it := agent.Item{Type: agent.ItemText, EndedAt: 1}
	switch p := rng.IntN(100); {
	case p < 60:
		many(codeWords, 40+rng.IntN(80))
		if rng.IntN(3) == 0 {
			fmt.Fprintf(&b, "%016x", rng.Uint64())
		}
	case p < 75:
		many(russianWords, 30+rng.IntN(60))
		if rng.IntN(50) == 0 {
			b.WriteString("timeout")
		}
	case p < 87:
		for range 8 + rng.IntN(20) {
			b.WriteString(chineseRuns[rng.IntN(len(chineseRuns))])
			fmt.Fprintf(&b, "%c", rune(0x4e00+rng.IntN(3000)))
		}
	default:
		it = agent.Item{Type: agent.ItemTool, CallID: "x", Name: "Bash", Tool: agent.ToolExecute, Title: "run", State: agent.StateCompleted}
		for range 4 + rng.IntN(20) {
			fmt.Fprintf(&b, `{"id":"%016x%016x","ok":true},`, rng.Uint64(), rng.Uint64())
		}
	}
	if rng.IntN(20_000) == 0 {
		b.WriteString(" handleSubagentReplyTimeout ")
	}
	if it.Type == agent.ItemTool {
		it.Output = b.String()
	} else {
		it.Text = b.String()
	}
	return it
}
