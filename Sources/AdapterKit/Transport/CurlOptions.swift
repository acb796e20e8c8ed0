#if os(Linux)
    import CCurl
    import Experimentation
    import HTTPTypes

    /// The options already set on a handle, so that the next exchange sets only what differs.
    struct CurlOptions: ~Copyable {
        /// How a request is framed; a handle is reset whenever this changes.
        private struct Shape: Equatable {
            enum Body { case none, inOnePiece, inPieces }

            let method: HTTPRequest.Method
            let body: Body

            init(_ exchange: CurlExchange) {
                method = exchange.request.method
                if method == .get || method == .head
                    || exchange.body.isEmpty && ![.post, .put, .patch].contains(method)
                {
                    body = .none
                } else {
                    // libcurl sends head and body of such a request together. It could also resend the request on its
                    // own; only the callback before each sending prevents that.
                    body = exchange.body.count <= 32 << 10 && ccurl_has_ready_callback() ? .inOnePiece : .inPieces
                }
            }
        }

        /// Whether the authorities are read once instead of for each handshake.
        ///
        /// With a folder beside the file, libcurl reads the file again for each handshake: about twenty milliseconds
        /// during which no other transfer advances. And a configured file means that no other authorities are wanted.
        static let readsFileOnce = ccurl_keeps_authorities() && ccurl_default_authorities() != nil

        private var shape: Shape?
        private var origin: (scheme: String?, authority: String?, path: String?)
        private var milliseconds = 0
        private var bodySize = -1
        private var fields: HTTPFields = [:]
        private var list: UnsafeMutablePointer<curl_slist>?
        private var piece = UnsafeMutableRawBufferPointer(start: nil, count: 0)

        deinit {
            curl_slist_free_all(list)
            piece.deallocate()
        }

        /// Sets all options for an exchange; returns `false` if libcurl refuses one.
        ///
        /// - Parameters:
        ///   - exchange: The exchange.
        ///   - configuration: The engine's settings.
        ///   - handle: The handle, always the same one.
        ///   - setCallbacks: Sets libcurl's callbacks.
        /// - Returns: Whether libcurl accepted all of them.
        mutating func set(
            _ exchange: CurlExchange,
            _ configuration: CurlConfiguration,
            on handle: UnsafeMutableRawPointer,
            callbacks setCallbacks: () -> [CURLcode]
        ) -> Bool {
            let next = Shape(exchange)
            var isTaken = true
            func note(_ code: CURLcode) { if code != CURLE_OK { isTaken = false } }

            if next != shape {
                shape = nil
                curl_easy_reset(handle)
                for code in constants(configuration, handle) + setCallbacks() + framing(next, handle) { note(code) }
                origin = (nil, nil, nil)
                milliseconds = 0
                bodySize = -1
            }
            let isNew = next != shape
            let request = exchange.request
            if (request.scheme, request.authority, request.path) != origin {
                origin = (request.scheme, request.authority, request.path)
                note(ccurl_set_text(handle, CURLOPT_URL, request.address))
            }
            let milliseconds = exchange.limits.deadline.wholeMilliseconds
            if milliseconds != self.milliseconds {
                self.milliseconds = milliseconds
                note(ccurl_set_long(handle, CURLOPT_TIMEOUT_MS, milliseconds))
                // Otherwise libcurl allows five minutes for connecting; a limit of its own is another timer for each
                // request.
                let isLong = milliseconds > 300_000
                note(ccurl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, isLong ? milliseconds : 0))
            }
            if isNew || !exchange.request.headerFields.isWritten(as: fields) {
                note(setFields(exchange.request.headerFields, next.body, handle))
            }
            if next.body != .none {
                if exchange.body.count != bodySize {
                    bodySize = exchange.body.count
                    note(ccurl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bodySize)))
                }
                if next.body == .inOnePiece { note(setPiece(exchange.body, handle)) }
            }
            if isTaken { shape = next }
            return isTaken
        }

        private func constants(
            _ configuration: CurlConfiguration,
            _ handle: UnsafeMutableRawPointer
        ) -> [CURLcode] {
            var codes = [
                ccurl_allow_http_only(handle),
                ccurl_leave_lookups_behind(handle),
                ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1),
                ccurl_set_long(handle, CURLOPT_PATH_AS_IS, 1),
                ccurl_set_long(handle, CURLOPT_FOLLOWLOCATION, 0),
                ccurl_set_long(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1),
                ccurl_set_long(handle, CURLOPT_HTTP09_ALLOWED, 0),
                ccurl_set_long(handle, CURLOPT_NETRC, 0),
                ccurl_set_long(handle, CURLOPT_TCP_NODELAY, 1),
                ccurl_set_long(handle, CURLOPT_SSL_VERIFYPEER, 1),
                ccurl_set_long(handle, CURLOPT_SSL_VERIFYHOST, 2),
                ccurl_set_long(handle, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2),
                ccurl_set_text(handle, CURLOPT_ACCEPT_ENCODING, "gzip, deflate"),
            ]
            if !configuration.usesEnvironmentProxies { codes.append(ccurl_set_text(handle, CURLOPT_PROXY, "")) }
            if let file = configuration.certificateAuthorities {
                codes.append(ccurl_set_text(handle, CURLOPT_CAINFO, file))
            }
            if Self.readsFileOnce || configuration.certificateAuthorities != nil {
                codes.append(ccurl_set_text(handle, CURLOPT_CAPATH, nil))
            }
            return codes
        }

        private func framing(_ shape: Shape, _ handle: UnsafeMutableRawPointer) -> [CURLcode] {
            switch (shape.method, shape.body) {
            case (.get, _): [ccurl_set_long(handle, CURLOPT_HTTPGET, 1)]
            case (.head, _): [ccurl_set_long(handle, CURLOPT_NOBODY, 1)]
            case (.post, _): [ccurl_set_long(handle, CURLOPT_POST, 1)]
            case (let method, .none): [ccurl_set_text(handle, CURLOPT_CUSTOMREQUEST, method.rawValue)]
            case (let method, _):
                [
                    ccurl_set_long(handle, CURLOPT_POST, 1),
                    ccurl_set_text(handle, CURLOPT_CUSTOMREQUEST, method.rawValue),
                ]
            }
        }

        private mutating func setFields(
            _ given: HTTPFields,
            _ body: Shape.Body,
            _ handle: UnsafeMutableRawPointer
        ) -> CURLcode {
            var list: UnsafeMutablePointer<curl_slist>?
            for field in given {
                // libcurl reads `Name:` as "don't send this field", and `Name;` as an empty one.
                list = curl_slist_append(list, field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
            }
            // libcurl asks before it sends a large body.
            if body == .inPieces { list = curl_slist_append(list, "Expect:") }
            // Otherwise libcurl declares every body a form.
            if given[.contentType] == nil { list = curl_slist_append(list, "Content-Type:") }
            let code = ccurl_set_list(handle, CURLOPT_HTTPHEADER, list)
            curl_slist_free_all(self.list)
            self.list = list
            fields = given
            return code
        }

        /// Copies a small body to memory that libcurl may read for as long as the exchange lasts.
        private mutating func setPiece(_ body: [UInt8], _ handle: UnsafeMutableRawPointer) -> CURLcode {
            if piece.count < max(1, body.count) {
                piece.deallocate()
                piece = .allocate(byteCount: max(256, body.count), alignment: 1)
            }
            piece.copyBytes(from: body)
            return ccurl_set_context(handle, CURLOPT_POSTFIELDS, piece.baseAddress)
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
