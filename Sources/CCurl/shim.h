// libcurl's option functions are variadic, which Swift can't call. One function here for each kind of argument.
#ifndef CCURL_SHIM_H
#define CCURL_SHIM_H

#include <stdbool.h>

#include <curl/curl.h>

#if defined(__linux__)
// Not part of Swift's module for glibc.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

// Takes a signal of the set that is pending, if there is one; it must be blocked. Returns whether there was one.
static inline bool ccurl_discard_signal(const sigset_t *signals) {
    struct timespec now = {0, 0};
    return sigtimedwait(signals, NULL, &now) > 0;
}
#endif

typedef size_t (*ccurl_data_callback)(char *bytes, size_t size, size_t count, void *context);
typedef int (*ccurl_ready_callback)(void *context, char *, char *, int, int);

static inline CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_context(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_data_callback(CURL *handle, CURLoption option, ccurl_data_callback value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_socket_callbacks(
    CURL *handle, curl_opensocket_callback open, curl_closesocket_callback close, void *context
) {
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, context);
    curl_easy_setopt(handle, CURLOPT_CLOSESOCKETDATA, context);
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open);
    return curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, close);
}

static inline CURLcode ccurl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode ccurl_get_context(CURL *handle, CURLINFO info, char **value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLMcode ccurl_multi_set_long(CURLM *handle, CURLMoption option, long value) {
    return curl_multi_setopt(handle, option, value);
}

static inline CURLMcode ccurl_multi_set_socket_callback(CURLM *handle, curl_socket_callback value, void *context) {
    CURLMcode code = curl_multi_setopt(handle, CURLMOPT_SOCKETFUNCTION, value);
    return code == CURLM_OK ? curl_multi_setopt(handle, CURLMOPT_SOCKETDATA, context) : code;
}

static inline CURLMcode ccurl_multi_set_timer_callback(CURLM *handle, curl_multi_timer_callback value, void *context) {
    CURLMcode code = curl_multi_setopt(handle, CURLMOPT_TIMERFUNCTION, value);
    return code == CURLM_OK ? curl_multi_setopt(handle, CURLMOPT_TIMERDATA, context) : code;
}

// Only http and https, whatever a server or a setting says.
static inline CURLcode ccurl_allow_http_only(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

// Whether libcurl reads a file of certificate authorities once for many handshakes, and only if it is given no folder.
// Since 7.87.
static inline bool ccurl_keeps_authorities(void) {
#if LIBCURL_VERSION_NUM >= 0x075700
    return true;
#else
    return false;
#endif
}

// The file of certificate authorities that libcurl was built with.
static inline const char *ccurl_default_authorities(void) {
#if LIBCURL_VERSION_NUM >= 0x074600
    const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
    return info->age >= CURLVERSION_SEVENTH ? info->cainfo : NULL;
#else
    return NULL;
#endif
}

// Whether the next callback exists.
static inline bool ccurl_has_ready_callback(void) {
#if LIBCURL_VERSION_NUM >= 0x075000
    return true;
#else
    return false;
#endif
}

// Called each time that a request is about to be sent; other than 0 ends the transfer. Since 7.80.
static inline CURLcode ccurl_set_ready_callback(CURL *handle, ccurl_ready_callback value, void *context) {
#if LIBCURL_VERSION_NUM >= 0x075000
    CURLcode code = curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, value);
    if (code != CURLE_OK) return code;
    return curl_easy_setopt(handle, CURLOPT_PREREQDATA, context);
#else
    (void)handle, (void)value, (void)context;
    return CURLE_OK;
#endif
}

// Doesn't wait for a name that is still being looked up when a transfer is given up. Since 7.87.
static inline CURLcode ccurl_leave_lookups_behind(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
    return curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#else
    (void)handle;
    return CURLE_OK;
#endif
}

// What a message of a finished transfer says; the result lies in a union, which reads badly from Swift.
static inline CURLcode ccurl_result(const CURLMsg *message) { return message->data.result; }

#endif
