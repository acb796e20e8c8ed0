import Experimentation

/// Passes announcements to one listener.
final class FlagshipAnnouncer<Value: Sendable>: Sendable {
    private let listener: (@Sendable (Value) -> Void)?
    private let announcements = Announcements<Value>()

    init(_ listener: (@Sendable (Value) -> Void)?) { self.listener = listener }

    /// Adds a value, which the next call of ``speak()`` announces.
    func add(_ value: Value) { if listener != nil { announcements.add(value) } }

    /// Announces what was added; an announcement caused by the listener follows after this one.
    func speak() { if let listener { announcements.make(listener) } }
}
