import CPostgres
import Foundation

/// A connection, used by one thread at a time; every call has a deadline.
///
/// libpq's blocking calls have none: a stopped server would block them indefinitely. So only nonblocking calls and
/// `poll` are used.
final class Connection {
    private let handle: OpaquePointer
    private var isUsable = true

    /// Whether the connection can be used again.
    var isOpen: Bool { isUsable && PQstatus(handle) == CONNECTION_OK }
    /// The socket, to wait for notifications.
    var socket: Int32 { PQsocket(handle) }

    /// Connects to one host, by libpq's keywords; ``opened(to:by:)`` chooses it.
    init(_ options: [String: String], by deadline: Deadline) throws(ConnectionFailure) {
        guard let handle = Self.begin(options) else { throw .lost("libpq has no memory") }
        self.handle = handle
        // From here on `deinit` closes it.
        guard PQstatus(handle) != CONNECTION_BAD else { throw lost() }
        var wanted = PGRES_POLLING_WRITING
        while wanted != PGRES_POLLING_OK {
            let events = wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT
            try wait(for: Int16(events), by: deadline)
            wanted = PQconnectPoll(handle)
            if wanted == PGRES_POLLING_FAILED { throw lost() }
        }
        guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else { throw lost() }
    }

    deinit { PQfinish(handle) }

    private static func begin(_ options: [String: String]) -> OpaquePointer? {
        let options = Array(options)
        let texts = (options.map(\.key) + options.map(\.value)).map { strdup($0) }
        defer { for text in texts { free(text) } }
        let (keywords, values) = (texts.prefix(options.count), texts.suffix(options.count))
        return PQconnectStartParams(
            keywords.map { UnsafePointer($0) } + [nil],
            values.map { UnsafePointer($0) } + [nil],
            0
        )
    }

    /// Pipelines statements and returns the rows of each; after a failed statement, none is executed.
    func run(_ statements: [Statement], by deadline: Deadline) throws(ConnectionFailure) -> [[Row]] {
        for statement in statements { try send(statement) }
        guard PQpipelineSync(handle) == 1 else { throw lost() }
        while true {
            let rest = PQflush(handle)
            guard rest >= 0 else { throw lost() }
            if rest == 0 { break }
            try wait(for: Int16(POLLIN | POLLOUT), by: deadline)
            // A server that waits for its output to be read accepts no more input.
            guard PQconsumeInput(handle) == 1 else { throw lost() }
        }
        var answers: [[Row]] = []
        var failure: ConnectionFailure?
        while true {
            guard let result = try next(by: deadline) else { continue }
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC:
                if let failure { throw failure }
                return answers
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK: answers.append(Self.rows(result))
            case PGRES_PIPELINE_ABORTED: break
            default: if failure == nil { failure = refusal(result) }
            }
            if !isOpen { throw failure ?? lost() }
        }
    }

    /// Waits for notifications until a deadline.
    ///
    /// - Returns: The channels that were notified.
    func notifications(until deadline: Deadline) throws(ConnectionFailure) -> [String] {
        var channels: [String] = []
        while true {
            guard PQconsumeInput(handle) == 1 else { throw lost() }
            while let notification = PQnotifies(handle) {
                channels.append(String(cString: notification.pointee.relname))
                PQfreemem(notification)
            }
            if !channels.isEmpty || deadline.isOver { return channels }
            do throws(ConnectionFailure) { try wait(for: Int16(POLLIN), by: deadline, isFatal: false) } catch {
                if case .late = error { return channels }
                throw error
            }
        }
    }

    // MARK: Steps

    private func send(_ statement: Statement) throws(ConnectionFailure) {
        let wires = statement.values.map(\.wire)
        let types = statement.values.map(\.type)
        let lengths = wires.map { Int32($0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: wires.count)
        // An empty value must not look like NULL.
        var joined: [UInt8] = []
        for wire in wires { joined += (wire ?? []) + [0] }
        let sent = joined.withUnsafeBufferPointer { buffer -> Int32 in
            var place = 0
            let pointers = wires.map { wire -> UnsafePointer<CChar>? in
                defer { place += (wire?.count ?? 0) + 1 }
                guard wire != nil, let base = buffer.baseAddress else { return nil }
                return UnsafeRawPointer(base + place).assumingMemoryBound(to: CChar.self)
            }
            return PQsendQueryParams(
                handle,
                statement.text,
                Int32(wires.count),
                types,
                pointers,
                lengths,
                formats,
                1
            )
        }
        guard sent == 1 else { throw lost() }
    }

    private func next(by deadline: Deadline) throws(ConnectionFailure) -> OpaquePointer? {
        while PQisBusy(handle) == 1 {
            try wait(for: Int16(POLLIN), by: deadline)
            guard PQconsumeInput(handle) == 1 else { throw lost() }
        }
        return PQgetResult(handle)
    }

    private func wait(for events: Int16, by deadline: Deadline, isFatal: Bool = true) throws(ConnectionFailure) {
        while true {
            var descriptor = pollfd(fd: PQsocket(handle), events: events, revents: 0)
            let count = poll(&descriptor, 1, deadline.milliseconds)
            if count > 0 { return }
            if count < 0, errno == EINTR { continue }
            if isFatal || count < 0 { isUsable = false }
            throw .late(deadline.patience)
        }
    }

    private func lost() -> ConnectionFailure {
        isUsable = false
        let message = String(cString: PQerrorMessage(handle)).trimmingCharacters(in: .whitespacesAndNewlines)
        return .lost(message.isEmpty ? "no reason was given" : message)
    }

    private func refusal(_ result: OpaquePointer) -> ConnectionFailure {
        func field(_ code: Character) -> String {
            PQresultErrorField(result, Int32(code.asciiValue ?? 0)).map { String(cString: $0) } ?? ""
        }
        let state = field("C")
        // Without an SQLSTATE, the error is libpq's own about the connection.
        return state.isEmpty ? lost() : .refused(state: state, message: field("M"))
    }

    private static func rows(_ result: OpaquePointer) -> [Row] {
        let columns = PQnfields(result)
        return (0..<PQntuples(result)).map { row in
            Row(
                cells: (0..<columns).map { column in
                    guard PQgetisnull(result, row, column) == 0, let value = PQgetvalue(result, row, column) else {
                        return nil
                    }
                    return [UInt8](UnsafeRawBufferPointer(start: value, count: Int(PQgetlength(result, row, column))))
                }
            )
        }
    }
}
