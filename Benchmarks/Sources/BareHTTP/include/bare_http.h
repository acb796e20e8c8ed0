#ifndef BARE_HTTP_H
#define BARE_HTTP_H

#include <stdint.h>

/// Posts a body to 127.0.0.1 so many times over, with libcurl's multi interface and nothing else.
///
/// Connections are opened and used once before the time is taken.
///
/// Returns the requests a second, or 0 if one failed.
double bare_http_rate(uint16_t port, const char *body, int callers, int requests);

#endif
