#if os(Linux)
    import CCurl
    import Experimentation
    import Foundation
    import HTTPTypes

    /// One exchange under way: what libcurl calls back for it, and what has come so far.
    ///
    /// It lives on the driver's thread.
    final class CurlTransfer {
        let handle: UnsafeMutableRawPointer
        var ticket: CurlTicket { exchange.ticket }

        private let exchange: CurlExchange
        private var sent = 0
        private var attempts = 0
        private var head = ResponseHead()
        private var body: [UInt8] = []
        private var isTooLarge = false
        private var fields: UnsafeMutablePointer<curl_slist>?

        init(_ exchange: CurlExchange, handle: UnsafeMutableRawPointer) {
            self.exchange = exchange
            self.handle = handle
        }

        deinit { curl_slist_free_all(fields) }

        /// The transfer that a handle was configured for.
        static func of(_ handle: UnsafeMutableRawPointer) -> CurlTransfer? {
            var context: UnsafeMutablePointer<CChar>?
            _ = ccurl_get_context(handle, CURLINFO_PRIVATE, &context)
            return context.map { from($0) }
        }

        /// Gives the caller its answer.
        func finish(_ outcome: Result<HTTPReply, ExperimentationError>) {
            exchange.continuation.resume(returning: outcome)
        }

        /// What became of the exchange, now that libcurl is done with it.
        func outcome(_ code: CURLcode) -> Result<HTTPReply, ExperimentationError> {
            if isTooLarge { return .failure(CurlOutcome.tooLarge(exchange.limits.responseBytes)) }
            if let reason = head.objection { return .failure(CurlOutcome.broken(reason)) }
            if attempts > 1 { return .failure(CurlOutcome.broken("the connection was closed before an answer")) }
            if let error = CurlOutcome.error(code) { return .failure(error) }
            guard head.isComplete else { return .failure(CurlOutcome.broken("the response's head isn't complete")) }
            var status = 0
            _ = ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
            guard (200...999).contains(status) else { return .failure(CurlOutcome.broken("no valid status")) }
            let response = HTTPResponse(status: .init(code: status), headerFields: head.decodedFields)
            return .success(HTTPReply(response: response, body: body))
        }

        // MARK: Options

        /// Tells libcurl everything about this exchange; false if it refuses something.
        func configure(_ configuration: CurlTransport.Configuration) -> Bool {
            let context = Unmanaged.passUnretained(self).toOpaque()
            let milliseconds = exchange.limits.deadline.wholeMilliseconds
            var codes = [
                ccurl_set_context(handle, CURLOPT_PRIVATE, context),
                ccurl_set_text(handle, CURLOPT_URL, exchange.request.address),
                ccurl_allow_http_only(handle),
                ccurl_leave_lookups_behind(handle),
                ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1),
                ccurl_set_long(handle, CURLOPT_PATH_AS_IS, 1),
                ccurl_set_long(handle, CURLOPT_FOLLOWLOCATION, 0),
                ccurl_set_long(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1),
                ccurl_set_long(handle, CURLOPT_HTTP09_ALLOWED, 0),
                ccurl_set_long(handle, CURLOPT_NETRC, 0),
                ccurl_set_long(handle, CURLOPT_TIMEOUT_MS, milliseconds),
                ccurl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, milliseconds),
                ccurl_set_long(handle, CURLOPT_TCP_NODELAY, 1),
                ccurl_set_long(handle, CURLOPT_SSL_VERIFYPEER, 1),
                ccurl_set_long(handle, CURLOPT_SSL_VERIFYHOST, 2),
                ccurl_set_long(handle, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2),
                ccurl_set_text(handle, CURLOPT_ACCEPT_ENCODING, "gzip, deflate"),
                ccurl_set_data_callback(handle, CURLOPT_WRITEFUNCTION, CurlTransfer.receive),
                ccurl_set_context(handle, CURLOPT_WRITEDATA, context),
                ccurl_set_data_callback(handle, CURLOPT_HEADERFUNCTION, CurlTransfer.receiveHead),
                ccurl_set_context(handle, CURLOPT_HEADERDATA, context),
                ccurl_set_ready_callback(handle, CurlTransfer.ready, context),
            ]
            if !configuration.usesEnvironmentProxies { codes.append(ccurl_set_text(handle, CURLOPT_PROXY, "")) }
            if let file = configuration.certificateAuthorities {
                codes.append(ccurl_set_text(handle, CURLOPT_CAINFO, file))
            }
            codes += methodOptions(context)
            codes.append(fieldOptions())
            return codes.allSatisfy { $0 == CURLE_OK }
        }

        private func methodOptions(_ context: UnsafeMutableRawPointer) -> [CURLcode] {
            switch exchange.request.method {
            case .get: return [ccurl_set_long(handle, CURLOPT_HTTPGET, 1)]
            case .head: return [ccurl_set_long(handle, CURLOPT_NOBODY, 1)]
            case let method where exchange.body.isEmpty && ![.post, .put, .patch].contains(method):
                return [ccurl_set_text(handle, CURLOPT_CUSTOMREQUEST, method.rawValue)]
            case let method:
                // The body is read by a callback that can't go back to its start. So libcurl can't quietly send a request again
                // on a new connection when a kept one turns out to be dead: whether to do so isn't the engine's to say.
                var codes = [
                    ccurl_set_long(handle, CURLOPT_POST, 1),
                    ccurl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(exchange.body.count)),
                    ccurl_set_data_callback(handle, CURLOPT_READFUNCTION, CurlTransfer.send),
                    ccurl_set_context(handle, CURLOPT_READDATA, context),
                ]
                if method != .post {
                    codes.append(ccurl_set_text(handle, CURLOPT_CUSTOMREQUEST, method.rawValue))
                }
                return codes
            }
        }

        private func fieldOptions() -> CURLcode {
            let given = exchange.request.headerFields
            for field in given {
                // libcurl takes `Name:` for "don't send this field", and `Name;` for an empty one.
                fields = curl_slist_append(
                    fields,
                    field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
                )
            }
            fields = curl_slist_append(fields, "Expect:")
            // Otherwise it would call every body a form.
            if given[.contentType] == nil { fields = curl_slist_append(fields, "Content-Type:") }
            return ccurl_set_list(handle, CURLOPT_HTTPHEADER, fields)
        }

        // MARK: What libcurl calls

        private static func from(_ context: UnsafeMutableRawPointer) -> CurlTransfer {
            Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
        }

        private static let receive: ccurl_data_callback = { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            return from(context).take(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }

        private static let receiveHead: ccurl_data_callback = { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
            return from(context).head.take(line) ? line.count : 0
        }

        private static let send: ccurl_data_callback = { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            return from(context).give(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
        }

        private static let ready: ccurl_ready_callback = { context, _, _, _, _ in
            guard let context else { return 1 }
            let transfer = from(context)
            transfer.attempts += 1
            return transfer.attempts > 1 ? 1 : 0
        }

        private func take(_ bytes: UnsafeRawBufferPointer) -> Int {
            guard bytes.count <= exchange.limits.responseBytes - body.count else {
                isTooLarge = true
                return 0
            }
            body.append(contentsOf: bytes)
            return bytes.count
        }

        private func give(_ space: UnsafeMutableRawBufferPointer) -> Int {
            let part = exchange.body[sent..<min(exchange.body.count, sent + space.count)]
            space.copyBytes(from: part)
            sent += part.count
            return part.count
        }
    }

    extension Duration {
        /// Milliseconds, rounded up, at least one and at most a day.
        var wholeMilliseconds: Int {
            let (seconds, attoseconds) = components
            guard seconds < 86_400 else { return 86_400_000 }
            return max(1, Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
        }
    }
#endif
