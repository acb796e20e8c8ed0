#if os(Linux)
    import CCurl
    import Experimentation

    /// The meaning of libcurl's results.
    ///
    /// Messages come from libcurl's own table and never from the exchange, since an address may hold a user's id.
    enum CurlOutcome {
        static let cancelled = ExperimentationError(.cancelled, "the task was cancelled")
        static let released = ExperimentationError(.shutDown, "the transport has been released")
        static let refused = ExperimentationError(.transport, "libcurl refused the request's options")
        static let exhausted = ExperimentationError(.transport, "the process has no descriptor or memory left")

        static func tooLarge(_ limit: Int) -> ExperimentationError {
            ExperimentationError(.tooLarge, "the response's body is larger than \(limit) bytes")
        }

        static func broken(_ reason: String) -> ExperimentationError { ExperimentationError(.transport, reason) }

        /// The error for a result; `nil` for success.
        static func error(_ code: CURLcode) -> ExperimentationError? {
            switch code {
            case CURLE_OK:
                nil
            case CURLE_OPERATION_TIMEDOUT:
                ExperimentationError(.timeout, "no complete response within the deadline")
            case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE,
                CURLE_SSL_ISSUER_ERROR,
                CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CRL_BADFILE:
                ExperimentationError(.configuration, "the server's certificate isn't trusted: \(text(code))")
            case CURLE_URL_MALFORMAT:
                ExperimentationError(.configuration, "the address can't be used: \(text(code))")
            default:
                ExperimentationError(.transport, text(code))
            }
        }

        private static func text(_ code: CURLcode) -> String {
            curl_easy_strerror(code).map { String(cString: $0) } ?? "libcurl error \(code.rawValue)"
        }
    }
#endif
