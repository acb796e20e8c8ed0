// For memmem.
#define _GNU_SOURCE
#include "collector.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_AT_ONCE 128
#define LONGEST_HEAD 8192

typedef struct {
    int descriptor;
    size_t head_length;
    size_t body_left;
    char head[LONGEST_HEAD];
} Connection;

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

static size_t body_length(const char *head, size_t length) {
    static const char name[] = "content-length:";
    for (size_t at = 0; at + sizeof name < length; at++) {
        if ((head[at] | 0x20) == 'c' && strncasecmp(head + at, name, sizeof name - 1) == 0) {
            return (size_t)strtoul(head + at + sizeof name - 1, NULL, 10);
        }
    }
    return 0;
}

// Reads what has come and answers each request that is complete; false if the connection is over.
static bool serve(Connection *connection) {
    static char buffer[1 << 18];
    ssize_t got = read(connection->descriptor, buffer, sizeof buffer);
    if (got <= 0) return false;
    const char *rest = buffer;
    size_t left = (size_t)got;
    while (left > 0) {
        if (connection->body_left == 0) {
            size_t before = connection->head_length;
            size_t part = left < LONGEST_HEAD - before ? left : LONGEST_HEAD - before;
            if (part == 0) return false;
            memcpy(connection->head + before, rest, part);
            const char *end = memmem(connection->head, before + part, "\r\n\r\n", 4);
            if (end == NULL) {
                connection->head_length = before + part;
                return true;
            }
            size_t length = (size_t)(end - connection->head) + 4;
            rest += length - before;
            left -= length - before;
            connection->body_left = body_length(connection->head, length);
            connection->head_length = 0;
        }
        size_t part = left < connection->body_left ? left : connection->body_left;
        rest += part;
        left -= part;
        connection->body_left -= part;
        if (connection->body_left == 0 && write(connection->descriptor, answer, sizeof answer - 1) < 0) return false;
    }
    return true;
}

static bool watch(int poller, int descriptor, void *what) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
    return epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

static void accept_one(int poller, int listener) {
    int descriptor = accept(listener, NULL, NULL);
    if (descriptor < 0) return;
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Connection *connection = calloc(1, sizeof *connection);
    if (connection != NULL) {
        connection->descriptor = descriptor;
        if (watch(poller, descriptor, connection)) return;
    }
    free(connection);
    close(descriptor);
}

static _Noreturn void run(int parent, int listener) {
    // Whatever else was open belongs to the parent: locks on files would outlive it here.
    for (int other = 3; other < 1024; other++) {
        if (other != parent && other != listener) close(other);
    }
    // What isn't a connection is told by its address.
    static struct epoll_event ready[MOST_AT_ONCE];
    int poller = epoll_create1(0);
    if (poller < 0 || !watch(poller, parent, &parent) || !watch(poller, listener, &listener)) _exit(1);
    int count;
    while ((count = epoll_wait(poller, ready, MOST_AT_ONCE, -1)) > 0) {
        for (int place = 0; place < count; place++) {
            void *what = ready[place].data.ptr;
            if (what == &parent) _exit(0);
            if (what == &listener) {
                accept_one(poller, listener);
            } else if (!serve(what)) {
                // Closing ends the watch.
                close(((Connection *)what)->descriptor);
                free(what);
            }
        }
    }
    _exit(0);
}

uint16_t collector_start(void) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int ends[2];
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 256) != 0
        || getsockname(listener, (struct sockaddr *)&address, &length) != 0 || pipe(ends) != 0) {
        return 0;
    }
    pid_t child = fork();
    if (child < 0) return 0;
    if (child == 0) run(ends[0], listener);
    close(ends[0]);
    close(listener);
    // The other end stays open as long as this process lives, which is how the child sees its end.
    return ntohs(address.sin_port);
}
