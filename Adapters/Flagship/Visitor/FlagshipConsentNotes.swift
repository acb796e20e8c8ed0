import Experimentation
import Foundation

/// Whose consent the vendor knows of in an environment, from run to run.
///
/// The vendor knows of it once a signal was delivered. One that merely waits may still expire or be dropped, so a note
/// of it is believed only as long as a signal may wait.
struct FlagshipConsentNotes: Sendable {
    let state: any StateStore
    let environmentID: String

    /// How long a signal may wait.
    private static let longestWait = FlagshipConfiguration.oldestHit / .seconds(1)

    /// What a note says.
    private enum Note: Equatable {
        /// A signal was delivered.
        case told
        /// A signal waits since then.
        case waits(since: Date)
    }

    /// Returns whether the vendor knows that a visitor has consented, or a signal that says so is on its way.
    func isKnown(_ visitorID: String, at now: Date) async -> Bool {
        guard let bytes = try? await state.value(for: key(visitorID)) else { return false }
        return isValid(bytes, at: now)
    }

    /// Notes that a signal of a visitor's consent waits for its delivery.
    func wait(_ visitorID: String, at now: Date) async {
        let key = key(visitorID)
        guard let known = try? await state.value(for: key) else {
            return _ = try? await state.update(key, to: Self.written(.waits(since: now)), if: nil)
        }
        // The delivery may have been quicker: its note stays.
        guard !isValid(known, at: now) else { return }
        _ = try? await state.update(key, to: Self.written(.waits(since: now)), if: known)
    }

    /// Notes what the vendor was told last.
    func tell(_ visitorID: String, _ hasConsented: Bool) async {
        guard hasConsented else { return await forget(visitorID) }
        try? await state.setValue(Self.written(.told), for: key(visitorID))
    }

    /// Removes the note of a visitor, whose next consent is then sent whatever the vendor knew.
    func forget(_ visitorID: String) async { try? await state.setValue(nil, for: key(visitorID)) }

    private func isValid(_ bytes: [UInt8], at now: Date) -> Bool {
        switch Self.read(bytes) {
        case .told: true
        // A note from the future was written before the clock was set back.
        case .waits(let date): date <= now && now < date + Self.longestWait
        case nil: false
        }
    }

    private static func written(_ note: Note) -> [UInt8] {
        switch note {
        case .told: [1]
        case .waits(let date): Array("\(date.timeIntervalSince1970)".utf8)
        }
    }

    private static func read(_ bytes: [UInt8]) -> Note? {
        if bytes == [1] { return .told }
        return Double(String(decoding: bytes, as: UTF8.self)).map { .waits(since: Date(timeIntervalSince1970: $0)) }
    }

    private func key(_ visitorID: String) -> String {
        let one = FlagshipMurmur3.hash("\(environmentID)/a/\(visitorID)")
        let two = FlagshipMurmur3.hash("\(environmentID)/b/\(visitorID)")
        return "flagship/consent/\(String(one, radix: 36))-\(String(two, radix: 36))"
    }
}
