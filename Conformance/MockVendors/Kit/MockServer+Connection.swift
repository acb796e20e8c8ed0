import NIOCore
import NIOPosix
import Synchronization

extension MockServer {
    /// Answers a connection's requests in order until either side closes.
    func serve(_ connection: NIOAsyncChannel<Arrival, ByteBuffer>, number: Int) async {
        let channel = connection.channel
        defer {
            state.withLock { state in
                state.connections[number] = nil
                state.tasks[number] = nil
            }
        }
        // A broken connection is caused by the client or by the fault script.
        try? await connection.executeThenClose { requests, answers in
            var isNew = true
            for try await arrival in requests {
                let performance = await perform(arrival, connection: number)
                if controlPath(arrival.request.path) == nil {
                    let roundTrip = state.withLock { $0.roundTrip }
                    // A client that has just connected has waited for that as well.
                    if roundTrip > .zero { try await Task.sleep(for: isNew ? roundTrip * 2 : roundTrip) }
                    isNew = false
                }
                try await play(performance, on: channel, answers)
                guard performance.keepsConnection else { break }
            }
        }
    }

    private func perform(_ arrival: Arrival, connection: Int) async -> Performance {
        let request = arrival.request
        if let path = controlPath(request.path) {
            let answer = await control(path, request)
            let bytes = ResponseBytes.whole(answer, to: request.method, keepsConnection: arrival.keepsConnection)
            return Performance(.bytes(bytes), keepsConnection: arrival.keepsConnection)
        }
        let (number, fault) = enter(arrival, operation: vendor.operation(of: request), connection: connection)
        var response = fault?.replacement
        if response == nil, fault?.isBeforeTheVendor != true { response = await vendor.respond(to: request) }
        let ownFault = fault == nil ? response?.fault : nil
        if let replacement = ownFault?.replacement { response = replacement }
        var performance = Performance(response, to: arrival, fault: fault ?? ownFault)
        if fault == nil, ownFault == nil, let response, response.status == 200,
            let pieces = await vendor.pieces(answering: request)
        {
            performance = Performance(.pieces(head: ResponseBytes.openHead(response), pieces), keepsConnection: false)
        }
        // Journaled before the answer is sent, so that whatever a client sees is already in the journal.
        note(performance.answers ? response : nil, ownFault: ownFault, bytes: performance.byteCount, for: number)
        return performance
    }

    private func play(
        _ performance: Performance,
        on channel: any Channel,
        _ answers: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) async throws {
        if performance.delay > .zero { try await Task.sleep(for: performance.delay) }
        switch performance.act {
        case .bytes(let bytes):
            try await answers.write(ByteBuffer(bytes: bytes))
        case .drip(let bytes, let pause):
            for byte in bytes {
                try await answers.write(ByteBuffer(bytes: [byte]))
                try await Task.sleep(for: pause)
            }
        case .pieces(let head, let pieces):
            try await answers.write(ByteBuffer(bytes: head))
            for await piece in pieces { try await answers.write(ByteBuffer(bytes: piece)) }
        case .silence:
            // The connection stays open and silent until the client or ``stop()`` closes it.
            try await channel.closeFuture.get()
        case .reset:
            if let socket = channel as? any SocketOptionProvider {
                try await socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
            }
            try await channel.close()
        }
    }
}

/// How a connection answers a request.
struct Performance: Sendable {
    enum Act: Sendable {
        case bytes([UInt8])
        case drip([UInt8], pause: Duration)
        case pieces(head: [UInt8], AsyncStream<[UInt8]>)
        case silence
        case reset
    }

    var act: Act
    var delay: Duration = .zero
    var keepsConnection: Bool

    init(_ act: Act, keepsConnection: Bool) {
        self.act = act
        self.keepsConnection = keepsConnection
    }

    /// Whether the client sees any of the response.
    var answers: Bool {
        switch act {
        case .bytes, .drip, .pieces: true
        case .silence, .reset: false
        }
    }

    /// The number of bytes sent.
    var byteCount: Int {
        switch act {
        case .bytes(let bytes), .drip(let bytes, _), .pieces(let bytes, _): bytes.count
        case .silence, .reset: 0
        }
    }

    /// Applies a fault to a response.
    init(_ response: MockResponse?, to arrival: Arrival, fault: Fault?) {
        let keeps = arrival.keepsConnection
        let method = arrival.request.method
        let response = response ?? MockResponse(status: 500)
        switch fault {
        case nil, .status, .redirect, .body, .delay:
            self.init(.bytes(ResponseBytes.whole(response, to: method, keepsConnection: keeps)), keepsConnection: keeps)
            if case .delay(let milliseconds) = fault { delay = .milliseconds(milliseconds) }
        case .stall:
            self.init(.silence, keepsConnection: false)
        case .reset, .resetAfterApplying:
            self.init(.reset, keepsConnection: false)
        case .truncate(let count):
            let head = ResponseBytes.head(response, length: response.body.count)
            self.init(.bytes(head + response.body.prefix(max(0, count))), keepsConnection: false)
        case .wrongLength(let difference):
            let (length, overflow) = response.body.count.addingReportingOverflow(difference)
            let head = ResponseBytes.head(response, length: overflow ? Int.max : max(0, length))
            // Too long a length ends in a close; too short a one leaves bytes where the next answer's head should
            // begin.
            self.init(.bytes(head + response.body), keepsConnection: difference < 0 && keeps)
        case .garbage:
            self.init(.bytes(Array("\u{1}\u{2}not HTTP at all\r\n\r\n\u{0}\u{3}".utf8)), keepsConnection: false)
        case .drip(let milliseconds):
            let bytes = ResponseBytes.whole(response, to: method, keepsConnection: keeps)
            self.init(.drip(bytes, pause: .milliseconds(milliseconds)), keepsConnection: keeps)
        case .compressedBomb(let bytes):
            let bomb = MockResponse(
                status: 200,
                headers: [.init("Content-Type", "application/json"), .init("Content-Encoding", "deflate")],
                body: CompressedZeros.stream(of: bytes)
            )
            self.init(.bytes(ResponseBytes.whole(bomb, to: method, keepsConnection: keeps)), keepsConnection: keeps)
        }
    }
}

extension Fault {
    /// The answer that is sent without asking the vendor.
    var replacement: MockResponse? {
        switch self {
        case .status(let status, let retryAfter, let body, let contentType):
            var answer = MockResponse(
                status: status,
                type: contentType ?? "text/plain; charset=utf-8",
                text: body ?? ""
            )
            if let retryAfter { answer.headers.append(.init("Retry-After", retryAfter)) }
            return answer
        case .redirect(let status, let address):
            return MockResponse(status: status, headers: [.init("Location", address)])
        case .body(let text, let contentType):
            return MockResponse(status: 200, type: contentType, text: text)
        default:
            return nil
        }
    }

    /// Whether the vendor isn't asked although nothing replaces its answer.
    var isBeforeTheVendor: Bool {
        switch self {
        case .reset, .garbage, .compressedBomb: true
        default: false
        }
    }
}
