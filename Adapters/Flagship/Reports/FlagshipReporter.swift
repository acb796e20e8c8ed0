import AdapterKit
import Experimentation
import Foundation
import HTTPTypes
import Synchronization

/// Sends the permitted reports to the vendor's developers: each once and immediately, without waiting for delivery.
///
/// A report that can't be delivered is lost, as in the original.
final class FlagshipReporter: Sendable {
    private struct State {
        var settings: AccountSettings?
        var visitor: FlagshipReport.Visitor?
        var underWay = 0
    }

    /// The maximum number of reports in progress; more are dropped.
    private static let limit = 16

    /// The name that links this run's reports.
    let sessionID: String
    private let requests: FlagshipRequests
    private let client: HTTPClient
    private let environment: ClientEnvironment
    private let timeZone = TimeZone.current
    private let state = Mutex(State())

    /// Creates a reporter; `nil` if reports are disabled.
    init?(_ requests: FlagshipRequests, client: HTTPClient, environment: ClientEnvironment) {
        guard !requests.configuration.reports.isEmpty else { return nil }
        sessionID = environment.makeID()
        self.requests = requests
        self.client = client
        self.environment = environment
    }

    /// Stores the account's settings, which say whether the vendor is troubleshooting.
    func note(_ settings: AccountSettings?) {
        if let settings { state.withLock { $0.settings = settings } }
    }

    /// Stores the visitor that reports without one are about.
    func note(_ visitor: FlagshipReport.Visitor) { state.withLock { $0.visitor = visitor } }

    /// Removes a visitor: reports without an id are no longer about them.
    func forget(_ visitor: String) {
        let visitor = ExactText(visitor)
        state.withLock { state in
            if let known = state.visitor, ExactText(known.identity.id) == visitor { state.visitor = nil }
        }
    }

    /// Sends a report about a visitor, or the last visitor noted.
    ///
    /// It does so only if the application and the vendor want it and the visitor has consented.
    func report(
        _ label: FlagshipReport.Label,
        of visitor: FlagshipReport.Visitor? = nil,
        _ fields: () -> [String: String]
    ) {
        guard requests.configuration.reports.contains(label.kind) else { return }
        let now = environment.time.now
        let (known, settings) = state.withLock { (visitor ?? $0.visitor, $0.settings) }
        guard let known, known.hasConsented else { return }
        let id = known.identity.id
        if label.kind == .usage {
            guard FlagshipReports.wantsUsage(of: id, at: now, in: timeZone) else { return }
            send(FlagshipReport(label: label, visitorID: sessionID, fields: fields()), at: now)
        } else {
            guard settings?.troubleshooting?.wants(id, at: now) == true else { return }
            let own = FlagshipReport.fields(of: known.identity, sessionID: sessionID)
            send(FlagshipReport(label: label, visitorID: id, fields: own.merging(fields()) { $1 }), at: now)
        }
    }

    /// Reports an HTTP exchange, but not of a cancelled task; a withdrawal of consent cancels a delivery.
    func report(
        _ label: FlagshipReport.Label,
        of visitor: FlagshipReport.Visitor? = nil,
        _ request: HTTPRequest,
        _ reply: HTTPReply,
        since start: ContinuousClock.Instant
    ) {
        guard !Task.isCancelled else { return }
        report(label, of: visitor) {
            FlagshipReport.fields(of: request, reply, after: start.duration(to: environment.time.instant))
        }
    }

    /// Reports an error without an HTTP exchange, but not of a cancelled task.
    func report(_ error: ExperimentationError, of visitor: FlagshipReport.Visitor? = nil) {
        guard !Task.isCancelled else { return }
        report(.caught, of: visitor) { ["error.message": "\(error.code.rawValue): \(error.message)"] }
    }

    private func send(_ report: FlagshipReport, at date: Date) {
        let isTaken = state.withLock { state in
            guard state.underWay < Self.limit else { return false }
            state.underWay += 1
            return true
        }
        guard isTaken else { return }
        let body = report.wire(
            environmentID: requests.configuration.environmentID,
            instanceID: environment.makeID(),
            date: date,
            timeZone: timeZone
        )
        Task {
            defer { state.withLock { $0.underWay -= 1 } }
            guard let message = try? requests.report(body, report.label.kind) else { return }
            let reply = try? await client.send(message, limits: requests.configuration.transferLimits)
            if reply.map({ 200...299 ~= $0.status }) != true {
                environment.log.log(.debug, "flagship.DATA_TR_USAGE", "a report could not be delivered")
            }
        }
    }
}
