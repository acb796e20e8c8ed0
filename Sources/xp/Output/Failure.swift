import ConformanceKit
import Experimentation
import Foundation
import MockVendors

/// Why a command fails: one line and an exit status.
struct Failure: Error {
    /// The exit statuses.
    enum Status: Int32 {
        case checkFailed = 1
        case usage = 64
        case input = 66
        case unavailable = 69
    }

    let status: Status
    let message: String

    init(_ status: Status, _ message: String) {
        self.status = status
        self.message = message
    }

    /// Creates a failure for unusable input.
    init(_ error: DocumentError) { self.init(.input, error.description) }

    /// Creates a failure for an address on the command line, which is left out if it may hold a password.
    init(_ option: String, _ address: String, _ error: ExperimentationError) {
        // What follows the host's colon is a port only if it is a number.
        let mayHoldPassword = address.contains("@") || address.contains(/:\/\/[^\/]*:[0-9]*[^0-9\/]/)
        self.init(.usage, (mayHoldPassword ? option : "\(option) \(address)") + ": \(error.message)")
    }

    /// Creates a failure for a port that can't be opened.
    init(_ error: MockServerError) { self.init(.unavailable, error.description) }

    /// Creates a failure with the status that fits the error's code.
    init(_ error: ExperimentationError) {
        switch error.code {
        case .configuration, .store: self.init(.input, error.message)
        case let code where code.isWithoutAnswer: self.init(.unavailable, error.description)
        default: self.init(.checkFailed, error.description)
        }
    }

    /// Writes the line and exits.
    func report() -> Never {
        Terminal.say("xp: " + message.split(whereSeparator: \.isNewline).joined(separator: " "))
        Self.exit(status)
    }

    /// Exits silently.
    static func exit(_ status: Status) -> Never { Foundation.exit(status.rawValue) }
}

extension ErrorCode {
    /// Whether the vendor has returned no answer, or none that can be read.
    var isWithoutAnswer: Bool { isOutage || self == .parseError }
}
