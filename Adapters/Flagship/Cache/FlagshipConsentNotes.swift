import Experimentation
import Foundation

/// Remembers across runs whose consent the vendor knows of in an environment.
///
/// The vendor knows of a consent once a signal was delivered. A signal that only waits may still expire or be dropped,
/// so its note is valid only as long as a signal may wait.
struct FlagshipConsentNotes: Sendable {
    private let notes: UserValues

    init(state: any StateStore, environmentID: String, time: any TimeSource) {
        notes = UserValues(in: state, under: "flagship/consent/", keeping: 10_000, time: time) {
            FlagshipStateCache.names(of: $0, in: environmentID)
        }
    }

    /// How long a signal may wait.
    private static let longestWait = FlagshipConfiguration.oldestHit / .seconds(1)

    /// The note of a delivered signal; the note of a waiting signal is the time since which it has been waiting.
    private static let told: [UInt8] = [1]

    /// Returns whether the vendor knows that a visitor has consented, or a signal that says so is on its way.
    func isKnown(_ visitorID: String, at now: Date) async -> Bool {
        await notes.value(of: visitorID) { Self.isValid($0, at: now) } != nil
    }

    /// Notes that a signal of a visitor's consent waits for delivery; the note of one delivered meanwhile stays.
    func wait(_ visitorID: String, at now: Date) async {
        let note = Array("\(now.timeIntervalSince1970)".utf8)
        try? await notes.set(note, of: visitorID) { Self.isValid($0, at: now) }
    }

    /// Notes what the vendor was last told.
    func tell(_ visitorID: String, _ hasConsented: Bool) async {
        guard hasConsented else { return await forget(visitorID) }
        try? await notes.set(Self.told, of: visitorID)
    }

    /// Removes a visitor's note; the next consent is then sent, whatever the vendor knew.
    func forget(_ visitorID: String) async { try? await notes.remove(of: visitorID) }

    private static func isValid(_ note: [UInt8], at now: Date) -> Bool {
        if note == told { return true }
        guard let since = Double(String(decoding: note, as: UTF8.self)) else { return false }
        // A note from the future was written before the clock was set back.
        return (0..<longestWait).contains(now.timeIntervalSince1970 - since)
    }
}
