package cli_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/cli"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestWatch: the address of the page is printed, the page is there, and Ctrl-C is how it
// ends well.
func TestWatch(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	out, stdout := io.Pipe()
	var stderr strings.Builder
	ended := make(chan int)
	go func() { ended <- cli.Run(ctx, []string{"watch", gridRun(t)}, strings.NewReader(""), stdout, &stderr) }()
	line := oracle.Must(bufio.NewReader(out).ReadString('\n'))(t)
	address, rest, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(address, "http://127.0.0.1:") || !strings.Contains(rest, "Ctrl-C") {
		t.Fatalf("it prints %q", line)
	}
	answer := oracle.Must(http.Get(address))(t)
	page, err := io.ReadAll(answer.Body)
	if answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(page), "blockbp watch") {
		t.Errorf("%s: %s, %v", address, answer.Status, err)
	}
	events := oracle.Must(http.Get(address + "events"))(t)
	defer events.Body.Close()
	if line, err := bufio.NewReader(events.Body).ReadString('\n'); err != nil || line != "event: rows\n" {
		t.Errorf("the first event is %q, %v", line, err)
	}
	interrupt()
	if code := <-ended; code != 0 || stderr.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
}

// TestWatchPortInUse: a port that another program has is named.
func TestWatchPortInUse(t *testing.T) {
	t.Parallel()
	other := oracle.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer other.Close()
	port := fmt.Sprint(other.Addr().(*net.TCPAddr).Port)
	run(t, "watch", gridRun(t), "--port", port).wantFailure(t, 1, "--port "+port, "in use", "choose another")
}
