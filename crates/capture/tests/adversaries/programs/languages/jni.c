/* Native methods of Adversary.java. */
#include "adversary.h"

#include <jni.h>

JNIEXPORT void JNICALL Java_Adversary_begin(JNIEnv *environment, jclass class) {
    (void)environment, (void)class;
    begin();
}

JNIEXPORT void JNICALL Java_Adversary_calls(JNIEnv *environment, jclass class, jint count) {
    (void)environment, (void)class;
    calls(count);
}

JNIEXPORT void JNICALL Java_Adversary_slowCall(JNIEnv *environment, jclass class, jint ms) {
    (void)environment, (void)class;
    slow_call(ms);
}
