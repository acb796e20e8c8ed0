import ConformanceKit

extension Vendor {
    /// The subjects that `xp conform` runs unless others are named; a composition that is watched from several sides
    /// runs from one of them.
    public static var conforming: [any ConformanceSubject] {
        all.flatMap(\.subjects) + [InMemorySubject()] + destinations + ComposedSubject.few
    }

    /// Every subject: each vendor's, followed by the in-memory provider, the destinations and the compositions.
    public static var everySubject: [any ConformanceSubject] {
        all.flatMap(\.subjects) + [InMemorySubject()] + destinations + ComposedSubject.all + [ComposedSubject.mixed]
    }
}
