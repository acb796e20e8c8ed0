import AdapterKit
import Experimentation

/// The XML interface: any operation, one exchange per call.
///
/// Calls made before there is a token wait for it and are sent once, in order. At most the configured number of calls
/// is in progress at a time. A call is repeated only once, and only if its token was refused: only the caller knows
/// whether an operation may be repeated.
public struct XMLAPIClient: Sendable {
    /// The maximum number of rows in one call.
    public static let rowLimit = 100

    let connection: EngageConnection
    /// Whether a call may still be sent.
    private let isWanted: @Sendable () -> Bool

    init(connection: EngageConnection, while isWanted: @escaping @Sendable () -> Bool = { true }) {
        self.connection = connection
        self.isWanted = isWanted
    }

    /// Returns a client whose calls are sent only while a condition holds, however long they have waited.
    ///
    /// A call that isn't sent ends with ``EngageErrors/forgotten``.
    func only(while isWanted: @escaping @Sendable () -> Bool) -> XMLAPIClient {
        XMLAPIClient(connection: connection, while: isWanted)
    }

    /// Sends a call and returns the vendor's answer, including a fault.
    ///
    /// - Throws: Why the XML interface gave no answer: `ErrorCode.transport` for redirects, statuses worth another
    ///   attempt, HTML and lost connections, other statuses as in `ReadFailure`, `ErrorCode.timeout`,
    ///   `ErrorCode.parseError` for incomplete XML, `ErrorCode.unauthorized` when two tokens were refused,
    ///   `ErrorCode.invalidArgument` for a call that can't be encoded.
    @discardableResult
    public func send(_ call: XMLAPI) async throws(ExperimentationError) -> XMLAPIResult {
        let envelope = try call.envelope()
        let name = call.operation.rawValue
        let deadline = connection.environment.time.instant.advanced(by: connection.configuration.networking.patience)
        try await connection.line.enter()
        defer { connection.line.leave() }
        return try await connection.exchange(
            until: deadline,
            { token throws(ExperimentationError) in
                guard isWanted() else { throw EngageErrors.forgotten }
                return connection.requests.xmlapi(envelope, token: token)
            },
            read: { reply throws(ExperimentationError) in
                if let error = EngageErrors.error(status: reply.status, of: name) { throw error }
                let type = reply.contentType
                guard type.hasPrefix("text/xml") || type.hasPrefix("application/xml") else {
                    let kind = type.isEmpty ? "of no type" : EngageWire.word(type)
                    throw ExperimentationError(.transport, "\(name): the answer isn't XML but \(kind)")
                }
                let result: XMLAPIResult
                do throws(ExperimentationError) {
                    result = try XMLAPIResult(reading: reply.body)
                } catch {
                    throw error.about("\(name): the answer can't be read")
                }
                return result.errorCode == .invalidSession ? nil : result
            }
        )
    }

    /// Sends a call and returns its result; a fault is thrown.
    ///
    /// - Throws: As ``send(_:)``, and for a fault with an ``XMLAPIFault`` as the cause.
    @discardableResult
    public func perform(_ call: XMLAPI) async throws(ExperimentationError) -> XMLAPIResult {
        let result = try await send(call)
        guard result.isSuccess else {
            throw EngageErrors.error(
                XMLAPIFault(operation: call.operation, code: result.errorCode, text: result.faultText)
            )
        }
        return result
    }

    /// Inserts or updates rows of a relational table, a hundred at a time, one call after the other.
    ///
    /// - Returns: The rows that the vendor didn't take although it reported success.
    /// - Throws: As ``perform(_:)``; earlier hundreds have then been taken, and may be sent again.
    public func insertUpdate(
        rows: [XMLAPIFields],
        table: String
    ) async throws(ExperimentationError) -> [XMLAPIRowFailure] {
        var failures: [XMLAPIRowFailure] = []
        for start in stride(from: 0, to: rows.count, by: Self.rowLimit) {
            let part = rows[start..<min(start + Self.rowLimit, rows.count)]
            failures += try await perform(.insertUpdate(rows: Array(part), table: table)).failures
        }
        return failures
    }
}
