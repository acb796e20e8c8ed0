import Foundation
import Synchronization

/// Shares one object among many readers without any two of them writing to the same memory.
///
/// Copying a reference out of one lock, or loading an atomic reference, makes every reader write to the object's
/// reference count, so that two threads are slower than one. Here each thread has a lane of its own: a lock that hardly
/// any other reader takes, around an uncounted reference. A writer goes through all lanes before it releases the old
/// object.
final class Lanes<Value: AnyObject & Sendable>: Sendable {
    private struct Lane: ~Copyable {
        let value: Mutex<Unmanaged<Value>>
        // Keeps the next lane's lock out of this one's cache line, and out of the line that is prefetched with it.
        private let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0)

        init(_ value: Unmanaged<Value>) { self.value = Mutex(value) }
    }

    // Allocated in the initializer, freed in the deinitializer; in between accessed only through its locks.
    private nonisolated(unsafe) let lanes: UnsafeMutablePointer<Lane>
    private let owner: Mutex<Value>

    /// Creates lanes with a first value.
    init(_ value: Value) {
        owner = Mutex(value)
        lanes = .allocate(capacity: ThreadLane.count)
        for lane in 0..<ThreadLane.count { (lanes + lane).initialize(to: Lane(Unmanaged.passUnretained(value))) }
    }

    deinit {
        lanes.deinitialize(count: ThreadLane.count)
        lanes.deallocate()
    }

    /// Reads the value within the calling thread's lane; the body must be short and must not read these lanes again.
    @inline(__always)
    func read<Result: Sendable>(_ body: (Value) -> Result) -> Result {
        lanes[ThreadLane.current].value.withLock { value in
            value._withUnsafeGuaranteedRef { body($0) }
        }
    }

    /// The value, for callers that keep it beyond the lock.
    var current: Value { owner.withLock { $0 } }

    /// Replaces the value, unless `change` returns `nil` for the current one.
    ///
    /// - Parameters:
    ///   - change: Returns the new value for the old one.
    ///   - replaced: Called with both once every reader gets the new one, and before the new one is itself replaced;
    ///     must be quick, and must not use these lanes.
    /// - Returns: Whether it was replaced.
    @discardableResult
    func update(
        _ change: (Value) -> Value?,
        replaced: (_ old: Value, _ new: Value) -> Void = { _, _ in }
    ) -> Bool {
        // The old value must outlive the loop: a reader may be in a lane that has not been updated yet.
        let old = owner.withLock { owner -> Value? in
            guard let new = change(owner) else { return nil }
            let old = owner
            owner = new
            for lane in 0..<ThreadLane.count {
                lanes[lane].value.withLock { $0 = Unmanaged.passUnretained(new) }
            }
            replaced(old, new)
            return old
        }
        return old != nil
    }
}

/// Assigns threads to a small ring of lanes, so that the first few never share one.
enum ThreadLane {
    /// The number of lanes.
    static let count = 8

    private static let next = Atomic<Int>(0)
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// The calling thread's lane.
    static var current: Int {
        let known = Int(bitPattern: pthread_getspecific(key))
        if known != 0 { return known - 1 }
        let lane = next.wrappingAdd(1, ordering: .relaxed).oldValue & (count - 1)
        pthread_setspecific(key, UnsafeRawPointer(bitPattern: lane + 1))
        return lane
    }
}
