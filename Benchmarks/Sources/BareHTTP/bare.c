#include "bare_http.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static size_t drop(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes, (void)context;
    return size * count;
}

static CURL *make(const char *url, const char *body, struct curl_slist *fields) {
    CURL *handle = curl_easy_init();
    if (handle == NULL) return NULL;
    curl_easy_setopt(handle, CURLOPT_URL, url);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, fields);
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, 60000L);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, drop);
    return handle;
}

// Sends so many requests, each handle again as soon as it is done; false if one fails.
static bool run(CURLM *multi, CURL **handles, int callers, int requests) {
    int left = requests;
    int running = 0;
    for (int caller = 0; caller < callers && left > 0; caller++, left--, running++) {
        curl_multi_add_handle(multi, handles[caller]);
    }
    bool is_good = true;
    while (running > 0) {
        int still;
        curl_multi_perform(multi, &still);
        CURLMsg *message;
        int more;
        while ((message = curl_multi_info_read(multi, &more)) != NULL) {
            CURL *handle = message->easy_handle;
            long status = 0;
            curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
            if (message->data.result != CURLE_OK || status != 200) is_good = false;
            curl_multi_remove_handle(multi, handle);
            running--;
            if (left == 0) continue;
            curl_multi_add_handle(multi, handle);
            left--;
            running++;
        }
        if (running > 0) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    return is_good;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

double bare_http_rate(uint16_t port, const char *body, int callers, int requests) {
    curl_global_init(CURL_GLOBAL_ALL);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u/events", port);
    struct curl_slist *fields = curl_slist_append(NULL, "Content-Type: application/json");
    CURLM *multi = curl_multi_init();
    CURL **handles = calloc((size_t)callers, sizeof *handles);
    for (int caller = 0; caller < callers; caller++) handles[caller] = make(url, body, fields);

    bool is_good = run(multi, handles, callers, callers);
    double start = now();
    is_good = run(multi, handles, callers, requests) && is_good;
    double seconds = now() - start;

    for (int caller = 0; caller < callers; caller++) curl_easy_cleanup(handles[caller]);
    curl_multi_cleanup(multi);
    curl_slist_free_all(fields);
    free(handles);
    return is_good ? requests / seconds : 0;
}
