// A system that starts few threads: std::thread calls the pthread_create of the program before that of the system.
// For one file of a program.
#pragma once
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <climits>

inline int threads_left = INT_MAX;  // that can be started. Set it while no other thread starts one.

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*run)(void*), void* given) noexcept {
    static const auto of_system = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return threads_left-- > 0 ? of_system(thread, how, run, given) : EAGAIN;
}
