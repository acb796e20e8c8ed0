// For memmem.
#define _GNU_SOURCE
#include "collector.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_CONNECTIONS 512
#define LONGEST_HEAD 8192

typedef struct {
    size_t head_length;
    size_t body_left;
    char head[LONGEST_HEAD];
} Connection;

// The first two places belong to the parent's pipe and to the socket that listens.
static struct pollfd polled[MOST_CONNECTIONS + 2];
static Connection connections[MOST_CONNECTIONS + 2];
static nfds_t count = 2;

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
static bool serve(int descriptor, Connection *connection) {
    static char buffer[1 << 18];
    ssize_t got = read(descriptor, buffer, sizeof buffer);
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
        if (connection->body_left == 0 && write(descriptor, answer, sizeof answer - 1) < 0) return false;
    }
    return true;
}

static void accept_one(int listener) {
    int descriptor = accept(listener, NULL, NULL);
    if (descriptor < 0) return;
    if (count == MOST_CONNECTIONS + 2) {
        close(descriptor);
        return;
    }
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    polled[count] = (struct pollfd){.fd = descriptor, .events = POLLIN};
    connections[count].head_length = 0;
    connections[count].body_left = 0;
    count++;
}

static _Noreturn void run(int parent, int listener) {
    // Whatever else was open belongs to the parent: locks on files would outlive it here.
    for (int other = 3; other < 1024; other++) {
        if (other != parent && other != listener) close(other);
    }
    polled[0] = (struct pollfd){.fd = parent, .events = POLLIN};
    polled[1] = (struct pollfd){.fd = listener, .events = POLLIN};
    while (poll(polled, count, -1) > 0) {
        if (polled[0].revents != 0) break;
        for (nfds_t place = count; place-- > 2;) {
            if (polled[place].revents == 0 || serve(polled[place].fd, &connections[place])) continue;
            close(polled[place].fd);
            count--;
            polled[place] = polled[count];
            connections[place] = connections[count];
        }
        if (polled[1].revents != 0) accept_one(listener);
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
